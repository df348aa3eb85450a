#!/usr/bin/env node
// Plain JavaScript for Node >= 20: starts the command line on Node 24 or later.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fetchedNode } from "./fetched-node.js";
import { flagsOf, restartProcess, start } from "./start.js";

const args = process.argv.slice(2);
restartProcess(args);
const inClone = existsSync(new URL("../src/main.ts", import.meta.url));
const { node, flags, main } = inClone
  ? await (await import("../../../scripts/clone.js")).prepare()
  : { node: fetchedNode, flags: [], main: fileURLToPath(new URL("../dist/main.js", import.meta.url)) };
await start(node, [...flags, ...flagsOf(args)], main, args);
