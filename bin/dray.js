#!/usr/bin/env node
// Plain JavaScript for Node >= 20: prepares a clone on first use, then runs the command line on Node 24.
import { join } from "node:path";
import { repository, run } from "../scripts/node24.js";
import { setup } from "../scripts/setup.js";
import { bundled } from "./bundle.js";

// With V8's own limits a third of the API server's memory is garbage; these cost a few percent of its time.
const flags =
  process.argv[2] === "apiserver" ? ["--max-semi-space-size=8", "--heap-growing-percent=100"] : [];

setup();
const dray = join(repository, "packages", "dray");
const main = await bundled(repository, join(dray, "src", "main.ts"), join(dray, "dist"));
run([...flags, main, ...process.argv.slice(2)]);
