#!/usr/bin/env node
// So that `npx dray` runs in a clone before anything is installed.
import "../packages/dray/bin/dray.js";
