import { accessSync, constants, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolderSync } from "@dray/files";
import { type Layout, userId } from "./layout.ts";

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
  makeFolderSync(base, mode);
  checkOwnFolder(base);
  makeFolderSync(layout.runDir, mode);
  checkOwnFolder(layout.runDir);
}

/**
 * Throws unless `path` is a folder, no link, that belongs to this user and that nobody else can write: below
 * /tmp anyone makes folders.
 */
export function checkOwnFolder(path: string): void {
  const found = lstatSync(path);
  const uid = userId();
  // On Windows there are neither owners nor modes, and uid is -1.
  const wrong = !found.isDirectory()
    ? "is no folder"
    : uid !== -1 && found.uid !== uid
      ? `belongs to user ${found.uid}, not to user ${uid}`
      : uid !== -1 && (found.mode & 0o022) !== 0
        ? "can be written by other users"
        : undefined;
  if (wrong !== undefined) throw new Error(`${path} ${wrong}: remove it and try again`);
}
