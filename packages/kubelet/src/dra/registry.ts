import { type Dirent, lstatSync, opendirSync } from "node:fs";
import { join } from "node:path";
import { checkReachableSocketPath } from "@dray/rpc";

/** Maximum depth of folders in which a socket may lie. */
const maxDepth = 8;
/**
 * Maximum number of entries that are read: drivers write here, and each entry costs memory and a connection.
 */
const maxEntries = 1000;

/** Contents of the folder of registration sockets, and of its sub-folders. */
export interface Registry {
  /** By path: the identity of the socket, which differs from a later one at the same path. */
  readonly sockets: ReadonlyMap<string, string>;
  /** Identities of folders, by path. */
  readonly folders: ReadonlyMap<string, string>;
  /** Entries that cannot be used, by path, with the reason. */
  readonly ignored: ReadonlyMap<string, string>;
}

/**
 * Reads the folder recursively; never throws for its contents. `enter` is called for each folder before it is
 * read, so that a watch is in place by then.
 */
export function readRegistry(root: string, enter: (folder: string, identity: string) => void): Registry {
  const sockets = new Map<string, string>();
  const folders = new Map<string, string>();
  const ignored = new Map<string, string>();
  let entries = 0;

  /** In the order of names, up to the limit. */
  const read = (folder: string): Dirent[] => {
    const found: Dirent[] = [];
    const directory = opendirSync(folder);
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        if (entry.name.startsWith(".")) continue;
        if (++entries > maxEntries) {
          ignored.set(root, `${root} has more than ${maxEntries} entries: the rest is not looked at`);
          break;
        }
        found.push(entry);
      }
    } finally {
      directory.closeSync();
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  };
  const look = (path: string, depth: number, entry: Dirent | undefined): void => {
    try {
      const isFolder = entry === undefined || entry.isDirectory();
      if (!isFolder && !entry.isSocket())
        throw new Error(`${path} is ${nameOf(entry)}; sockets are expected here`);
      if (depth > maxDepth) throw new Error(`${path} lies more than ${maxDepth} folders deep`);
      const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
      if (stat === undefined) return;
      const identity = `${stat.ino}/${stat.birthtimeNs}`;
      if (!isFolder) {
        checkReachableSocketPath(path);
        sockets.set(path, identity);
        return;
      }
      folders.set(path, identity);
      enter(path, identity);
      for (const inside of read(path)) look(join(path, inside.name), depth + 1, inside);
    } catch (error) {
      // It was removed meanwhile, which need not be reported.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") ignored.set(path, (error as Error).message);
    }
  };
  look(root, 0, undefined);
  return { sockets, folders, ignored };
}

function nameOf(entry: Dirent): string {
  if (entry.isSymbolicLink()) return "a symbolic link";
  if (entry.isFIFO()) return "a named pipe";
  if (entry.isFile()) return "a regular file";
  return "a device";
}
