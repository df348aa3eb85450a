// Runs a TypeScript file of this repository as it stands, on Node 24 or later. Runs on Node >= 20.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { newNode, spawnNode } from "../packages/dray/bin/start.js";

export const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** The path of a Node that is new enough. */
export const node24 = newNode;

/** The flags under which Node runs our sources as they stand. */
export const sourceFlags = ["--conditions=dray-source", "--disable-warning=ExperimentalWarning"];

/** Starts Node 24 with `args`, hands signals on, and exits as it exits. */
export const run = (args) => spawnNode([...sourceFlags, ...args]);

if (process.argv[1] === fileURLToPath(import.meta.url)) run(process.argv.slice(2));
