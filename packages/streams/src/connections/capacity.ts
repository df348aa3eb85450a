import { readFileSync } from "node:fs";
import { totalmem } from "node:os";

/** Limit where the system does not tell: the usual one for a user. */
const usualLimit = 1024;
/** Bytes of an idle TLS connection in Node, measured on 1,500 of them. */
const connectionBytes = 64 * 1024;
/** Part of the memory that connections may take. */
const memoryShare = 1 / 8;
/** Even a process that may open few files serves a few clients. */
const minFiles = 8;

/**
 * Returns how many files this process may open, to which Node has raised its own limit; undefined where the
 * system has no /proc.
 */
export function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/** Returns a share of the files that this process may open. */
export function shareOfFiles(share: number, files = openFilesLimit() ?? usualLimit): number {
  return Math.max(minFiles, Math.floor(files * share));
}

/**
 * Returns how many connections may use this share of the files, and an eighth of the memory, of this process.
 */
export function maxConnections(share: number): number {
  const fitting = Math.floor((processMemory() * memoryShare) / connectionBytes);
  return Math.max(minFiles, Math.min(shareOfFiles(share), fitting));
}

/** Bytes of memory that this process may have: of its cgroup, if that limits it. */
function processMemory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
