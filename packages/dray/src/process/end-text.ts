import { closeSync, openSync } from "node:fs";
import { constants } from "node:os";
import type { ProcessEnd } from "@dray/cluster";
import { readEndSync } from "@dray/files";

/** Bytes at the end of a file in which the last words of a process are looked for. */
const tailLength = 64 * 1024;

/** Setting of the limit of the heap. */
const raiseHeap = "`NODE_OPTIONS=--max-old-space-size=MEBIBYTES` raises its limit";

/** Reason of a process that has ended, as far as its end shows it, and what helps. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["SIGABRT", `its heap was full: ${raiseHeap}`],
  ["SIGKILL", "from somebody, or from the system because memory was short"],
]);

/** Returns how a process of Node ended: `signal SIGKILL (from somebody, ...)`, or its exit code. */
export function endText({ code, signal }: Pick<ProcessEnd, "code" | "signal">): string {
  const name = signal ?? signalOf(code);
  const reason = name === undefined ? undefined : reasons.get(name);
  const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
  return reason === undefined ? end : `${end} (${reason})`;
}

/** A shell, and our launcher, exit with 128 more than the signal of their child. */
function signalOf(code: number | null): string | undefined {
  if (code === null || code <= 128) return undefined;
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

/**
 * Returns what Node wrote into `file` when the heap of that process was full, and what helps; undefined if it
 * did not.
 */
export function fullHeapText(file: string, pid: number): string | undefined {
  const text = endOf(file);
  const at = text.lastIndexOf("JavaScript heap out of memory");
  // The lines before it, about the last collections of garbage, begin with the number of the process.
  if (at < 0 || !text.slice(0, at).includes(`[${pid}:`)) return undefined;
  return `its heap was full; ${raiseHeap}`;
}

function endOf(file: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return "";
  }
  try {
    return readEndSync(descriptor, tailLength).toString("latin1");
  } finally {
    closeSync(descriptor);
  }
}
