// The bundle of the sources, which `dray` runs in a clone. Runs on Node >= 20.
import { join } from "node:path";
import { environment, flagsOf } from "../packages/dray/bin/start.js";
import { bundled } from "./bundle.js";
import { node24, repository, sourceFlags } from "./node24.js";
import { setup } from "./setup.js";

export { environment };

/**
 * Installs what is missing, and makes the bundle. Gives what finds Node, flags for it, and the file to run.
 */
export async function prepare() {
  setup();
  const dray = join(repository, "packages", "dray");
  const main = await bundled(repository, join(dray, "src", "main.ts"), join(dray, "dist"));
  return { node: node24, flags: main.endsWith(".ts") ? sourceFlags : [], main };
}

/** The arguments of Node for `dray` with these arguments. */
export async function program(args) {
  const { flags, main } = await prepare();
  return [...flags, ...flagsOf(args), main, ...args];
}
