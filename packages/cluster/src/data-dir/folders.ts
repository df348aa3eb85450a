import { accessSync, constants, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolderSync } from "@dray/files";
import type { Layout } from "./layout.ts";
import { folderProblem, userId } from "./run-base.ts";

/**
 * Makes the data directory, for its owner alone. Throws an error that a person can act on if it cannot be
 * written.
 */
export function prepareDataDir(layout: Layout): void {
  const { dataDir } = layout;
  try {
    makeFolderSync(dataDir, 0o700);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    makeFolderSync(layout.logs, 0o700);
  } catch (error) {
    throw new Error(
      `the data directory ${dataDir} cannot be written: ${(error as Error).message}; name another with --data-dir`,
    );
  }
}

/**
 * Makes the run directory and its base, which only their owner can write. Throws if the base is somebody
 * else's.
 */
export function prepareRunDir(layout: Layout): void {
  const base = dirname(layout.runDir);
  // Containers of the superuser may run as another user, who has to get in.
  const mode = userId() === 0 ? 0o755 : 0o700;
  for (const folder of [base, layout.runDir]) {
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) makeFolderSync(folder, mode);
    checkOwnFolder(folder);
  }
}

/**
 * Throws unless `path` is a folder, not a link, that this user owns and that only this user can write: every
 * user can make folders below /tmp.
 */
export function checkOwnFolder(path: string): void {
  const problem = folderProblem(path);
  if (problem !== undefined)
    throw new Error(`${path} ${problem}: remove it, or have its owner or root remove it, and try again`);
}
