import { execFileSync } from "node:child_process";
import { existsSync, linkSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { writeFileAtomicallySync } from "@dray/files";

/**
 * A process, told apart from a later one that got the same number, on this boot of the machine or a later
 * one.
 */
export interface ProcessId {
  readonly pid: number;
  /**
   * Clock ticks after boot at which it began, or the date that `ps` prints; undefined where the system has
   * neither.
   */
  readonly startTime?: number | string;
  /** Ticks begin anew with every boot. Undefined where the system does not name its boots. */
  readonly bootId?: string;
}

/** Content of a process file. */
export interface ProcessRecord extends ProcessId {
  /** RFC 3339. */
  readonly startedAt: string;
  /** How far the process of a cluster has come; absent: it starts. */
  readonly phase?: "ready" | "stopping";
}

/** How a process ended. */
export interface ProcessEnd {
  /** RFC 3339. */
  readonly at: string;
  readonly code: number | null;
  readonly signal: string | null;
}

/** The process of the node agents, which is started again when it ends. */
export interface AgentsRecord extends ProcessRecord {
  /** How often it was started again since the cluster started. */
  readonly restarts: number;
  /** How the one before it ended or, if `ended`, this one. */
  readonly lastEnd?: ProcessEnd;
  readonly ended?: boolean;
}

/** When the process began; undefined if it has ended or the system does not tell. */
export function startTimeOf(pid: number): number | string | undefined {
  if (!existsSync("/proc/self/stat")) return startDate(pid);
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

/** For systems without procfs. */
function startDate(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", `${pid}`], { encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    // It has ended, or there is no `ps`.
    return undefined;
  }
}

function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

export function thisProcess(): ProcessRecord {
  return processRecord(process.pid);
}

/** The process that has this number now, as one that starts now. */
export function processRecord(pid: number): ProcessRecord {
  const [startTime, boot] = [startTimeOf(pid), bootId()];
  return {
    pid,
    ...(startTime !== undefined && { startTime }),
    ...(boot !== undefined && { bootId: boot }),
    startedAt: new Date().toISOString(),
  };
}

/**
 * Reports whether this very process lives. One whose record lacks what the system could tell of it does not:
 * the record is not ours, and the number may be anybody's.
 */
export function isAlive(id: ProcessId): boolean {
  // 0 and negative numbers are groups of processes.
  if (!Number.isSafeInteger(id.pid) || id.pid <= 0 || id.bootId !== bootId()) return false;
  try {
    process.kill(id.pid, 0);
  } catch (error) {
    // EPERM: it is another user's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return startTimeOf(id.pid) === id.startTime;
}

export function writeProcessFile(path: string, record: ProcessRecord): void {
  writeFileAtomicallySync(path, JSON.stringify(record));
}

/**
 * Writes this process into the file unless a living one holds it, and returns that one. One of two that
 * try at the same time wins.
 */
export function claimProcessFile(path: string): ProcessRecord | undefined {
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

/**
 * Records in the file of this process how far it has come. On a full disk the file keeps the former phase.
 */
export function recordPhase(path: string, phase: "ready" | "stopping"): void {
  const file = readProcessFile(path);
  if (file?.record.pid !== process.pid) return;
  try {
    writeProcessFile(path, { ...file.record, phase });
  } catch {
    // The cluster goes on without the record.
  }
}

/** True for the process of an earlier boot of the machine. */
export function isOfEarlierBoot(id: ProcessId): boolean {
  return id.bootId !== undefined && id.bootId !== bootId();
}

const heartbeatInterval = 2_000;

/**
 * Updates the time of the file until the returned function is called, so that it says when its process last
 * lived.
 */
export function keepFresh(path: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(path, now, now);
    } catch {
      // Somebody removed it, or the disk is read-only: the time that is reported after a crash is older then.
    }
  }, heartbeatInterval);
  timer.unref();
  return () => clearInterval(timer);
}

/** Reads a process file, whether the process lives or not; undefined if it is missing or damaged. */
export function readProcessFile<T extends ProcessRecord = ProcessRecord>(
  path: string,
): { readonly record: T; readonly alive: boolean; readonly lastSeen: Date } | undefined {
  try {
    // Written by this program.
    const record = JSON.parse(readFileSync(path, "utf8")) as T | null;
    if (typeof record?.pid !== "number") return undefined;
    return { record, alive: isAlive(record), lastSeen: statSync(path).mtime };
  } catch {
    return undefined;
  }
}

/** The process that the file names, if it is alive. Undefined for a file that a crash left behind. */
export function runningProcess(path: string): ProcessRecord | undefined {
  const file = readProcessFile(path);
  return file?.alive ? file.record : undefined;
}

export function removeProcessFile(path: string): void {
  rmSync(path, { force: true });
}
