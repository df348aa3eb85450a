#!/usr/bin/env node
// Plain JavaScript for Node >= 20: starts the command line on Node 24 or later.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { flagsOf, start } from "./start.js";

const args = process.argv.slice(2);
const inClone = existsSync(new URL("../src/main.ts", import.meta.url));
const [flags, main] = inClone
  ? await (await import("../../../scripts/clone.js")).prepare()
  : [[], fileURLToPath(new URL("../dist/main.js", import.meta.url))];
await start([...flags, ...flagsOf(args)], main, args);
