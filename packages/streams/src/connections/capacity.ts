import { readFileSync } from "node:fs";
import { totalmem } from "node:os";

/** Limit where the system does not tell: the usual one for a user. */
const usualLimit = 1024;
/** Bytes of an idle TLS connection in Node, measured on 1,500 of them. */
const connectionBytes = 64 * 1024;
/** Part of the memory that connections may take. */
const memoryShare = 1 / 8;
/** Even a process that may open few files serves a few clients. */
const minConnections = 8;

/** Files that this process may open. Node raises the soft limit to the hard one. */
export function openFilesLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? usualLimit : Number(limit);
  } catch {
    return usualLimit;
  }
}

/** Connections that may use this share of the files, and an eighth of the memory, of this process. */
export function maxConnections(share: number, files = openFilesLimit(), memory = processMemory()): number {
  const fitting = Math.min(files * share, (memory * memoryShare) / connectionBytes);
  return Math.max(minConnections, Math.floor(fitting));
}

/** Bytes of memory that this process may have: of its cgroup, if that limits it. */
function processMemory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
