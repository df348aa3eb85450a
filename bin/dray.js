#!/usr/bin/env node
// Plain JavaScript for Node >= 20: prepares a clone on first use, then runs the command line on Node 24.
import { join } from "node:path";
import { repository, run } from "../scripts/node24.js";
import { setup } from "../scripts/setup.js";

setup();
run([join(repository, "packages", "dray", "src", "main.ts"), ...process.argv.slice(2)]);
