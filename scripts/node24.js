// Runs a TypeScript file of this repository as it stands, on Node 24 or later. Runs on Node >= 20.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNewEnough, spawnNode } from "../packages/dray/bin/start.js";

export const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** The flags under which Node runs our sources as they stand. */
export const sourceFlags = ["--conditions=dray-source", "--disable-warning=ExperimentalWarning"];

/** The path of a Node that is new enough: this one, else the one that npm has installed for this platform. */
export function node24() {
  const node = isNewEnough ? process.execPath : installedNode();
  if (node !== undefined) return node;
  throw new Error(
    `Dray needs Node 24 or later, and this is Node ${process.versions.node}; npm has installed none for ${process.platform}-${process.arch}. Run "npm ci" without leaving out optional dependencies, or install Node 24`,
  );
}

/**
 * The Node of a dependency of `runtime`: npm installs the one for this platform, and puts it beside all
 * others.
 */
export function installedNode() {
  const { optionalDependencies } = read(join(repository, "runtime", "package.json"));
  for (const name of Object.keys(optionalDependencies)) {
    const manifest = resolved(name);
    if (manifest === undefined) continue;
    const { os, cpu, bin } = read(manifest);
    if ([os].flat().includes(process.platform) && [cpu].flat().includes(process.arch))
      return join(dirname(manifest), bin.node);
  }
  return undefined;
}

const read = (file) => JSON.parse(readFileSync(file, "utf8"));

function resolved(name) {
  try {
    return createRequire(import.meta.url).resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

/** Starts Node 24 with `args`, hands signals on, and exits as it exits. */
export const run = (args) => spawnNode(node24(), [...sourceFlags, ...args]);

if (process.argv[1] === fileURLToPath(import.meta.url)) run(process.argv.slice(2));
