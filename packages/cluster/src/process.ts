import { existsSync, linkSync, readFileSync, rmSync } from "node:fs";
import { writeFileAtomicallySync } from "@dray/files";

/** A process, told apart from a later one that got the same number. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks after boot at which it began; undefined where the system does not tell. */
  readonly startTime?: number;
}

/** When the process began, in clock ticks after boot; undefined if it has ended or the system does not tell. */
export function startTimeOf(pid: number): number | undefined {
  try {
    // Field 22 of /proc/PID/stat; the second one is a name in parentheses that may hold blanks (proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; only its parent has not asked yet.
    return fields[0] === "Z" ? undefined : Number(fields[19]);
  } catch {
    return undefined;
  }
}

export function thisProcess(): ProcessId {
  return processId(process.pid);
}

/** The process that has this number now. */
export function processId(pid: number): ProcessId {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? { pid } : { pid, startTime };
}

export function isAlive({ pid, startTime }: ProcessId): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is another user's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return startTime === undefined || startTimeOf(pid) === startTime;
}

export function writeProcessFile(path: string, id: ProcessId): void {
  writeFileAtomicallySync(path, JSON.stringify(id), { folderMode: 0o700 });
}

/**
 * Writes this process into the file unless a living one holds it, and answers that one. Of two that try at the same
 * time one wins.
 */
export function claimProcessFile(path: string): ProcessId | undefined {
  const mine = `${path}.${process.pid}`;
  writeProcessFile(mine, thisProcess());
  try {
    for (;;) {
      const holder = runningProcess(path);
      if (holder !== undefined) return holder;
      rmSync(path, { force: true });
      try {
        linkSync(mine, path);
        return undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The process that the file names, if it is alive. A file that a crash left behind counts as none. */
export function runningProcess(path: string): ProcessId | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const id = JSON.parse(readFileSync(path, "utf8")) as ProcessId;
    return isAlive(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

export function removeProcessFile(path: string): void {
  rmSync(path, { force: true });
}
