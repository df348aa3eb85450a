#!/usr/bin/env node
// Plain JavaScript for Node >= 20: prepares a clone on first use, then runs the command line on Node 24.
import { run } from "../scripts/node24.js";
import { setup } from "../scripts/setup.js";
import { program } from "./program.js";

setup();
run(await program(process.argv.slice(2)));
