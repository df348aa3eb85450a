#!/usr/bin/env node
// So that it runs in a clone before anything is installed.
import "../packages/dray/bin/dray.js";
