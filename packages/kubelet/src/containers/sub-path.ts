import { chmodSync, lstatSync, mkdirSync, readlinkSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** Maximum number of links in one path, as in the system (path_resolution(7)). */
const maxLinks = 40;

/**
 * Resolves `subPath` of a volume mount to a path on the machine. Follows links within the volume only; with
 * `create`, makes missing directories with the mode of the volume. Throws an Error for a path that leads out
 * of the volume, and for a missing one without `create`.
 *
 * Upstream: pkg/volume/util/subpath/subpath_linux.go, SafeMakeDir and PrepareSafeSubpath.
 */
export function resolveSubPath(volume: string, subPath: string, create: boolean): string {
  const base = realpathSync(volume);
  const names = split(subPath);
  let here = base;
  let links = 0;
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (name === "..") {
      if (here === base) throw outside(subPath);
      here = join(here, "..");
      continue;
    }
    const path = join(here, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) {
      if (!create) throw new Error(`subPath ${JSON.stringify(subPath)} does not exist in the volume`);
      mkdirSync(path);
      chmodSync(path, lstatSync(base).mode & 0o7777);
      here = path;
    } else if (stat.isSymbolicLink()) {
      if (++links > maxLinks)
        throw new Error(`subPath ${JSON.stringify(subPath)} has too many symbolic links`);
      const target = readlinkSync(path);
      if (target.startsWith("/")) {
        const within = relative(base, target);
        if (within.split(sep)[0] === "..") throw outside(subPath);
        here = base;
        for (const part of split(within).reverse()) names.unshift(part);
      } else for (const part of split(target).reverse()) names.unshift(part);
    } else {
      if (names.length > 0 && !stat.isDirectory())
        throw new Error(`subPath ${JSON.stringify(subPath)}: ${name} is not a directory`);
      here = path;
    }
  }
  return here;
}

function split(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function outside(subPath: string): Error {
  return new Error(`subPath ${JSON.stringify(subPath)} leads out of the volume`);
}
