import { accessSync, constants, existsSync, lstatSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * -1 where the system has no such numbers. Not `userInfo()`: that fails for a user without a name, as in
 * containers.
 */
export function userId(): number {
  return process.getuid?.() ?? -1;
}

/** Returns the folder of the run directories of this user. */
export function runBase(id: string): string {
  const uid = userId();
  if (uid === 0 && isWritable("/run")) return "/run/dray";
  // Not tmpdir(): on some systems its path alone is half of what a socket may have.
  return chooseRunBase([`/tmp/dray-${uid}`, `/run/user/${uid}/dray`], id);
}

/**
 * Returns the first folder that already has the run directory, else the first that this user has or can make.
 * Anyone can make a folder of any name in /tmp, and only its owner can remove it there. Everybody else's
 * folders and links are passed by. The first one if none is left: an error about it says why.
 */
export function chooseRunBase(bases: readonly string[], id: string): string {
  const usable = bases.filter(
    (base) => folderProblem(base) === undefined || (isMissing(base) && isWritable(dirname(base))),
  );
  return usable.find((base) => existsSync(join(base, id))) ?? usable[0] ?? bases[0]!;
}

/**
 * Returns the reason why `path` is unsafe: a folder must belong to this user, and only this user may write in
 * it. Returns undefined if it is safe.
 */
export function folderProblem(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "does not exist";
  const uid = userId();
  if (!found.isDirectory()) return "is not a folder";
  // On Windows there are neither owners nor modes, and uid is -1.
  if (uid === -1) return undefined;
  if (found.uid !== uid) return `belongs to user ${found.uid}, not to user ${uid}`;
  return (found.mode & 0o022) === 0 ? undefined : "can be written by other users";
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
}

/** Root of a user name space may not write where the machine's root may. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
