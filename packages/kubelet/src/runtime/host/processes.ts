import { readdirSync, readFileSync } from "node:fs";

/** Identity of a process, which is not shared by a later one with the same PID. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start in clock ticks after boot: field 22 of /proc/PID/stat. */
  readonly startTime: string;
}

export interface ProcessStat extends ProcessIdentity {
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  /** Device number of its controlling terminal; 0 if it has none. */
  readonly terminal: number;
}

/** Parses a line of /proc/PID/stat; the program's name in it may have spaces and parentheses. */
export function parseStat(line: string): ProcessStat | undefined {
  const end = line.lastIndexOf(")");
  const pid = Number.parseInt(line, 10);
  const fields = line.slice(end + 2).split(" ");
  const [state, parent, , session, terminal] = fields;
  const startTime = fields[19];
  if (end < 0 || !Number.isSafeInteger(pid) || state === undefined || startTime === undefined)
    return undefined;
  return {
    pid,
    startTime,
    state,
    parent: Number(parent),
    session: Number(session),
    terminal: Number(terminal),
  };
}

export function processStat(pid: number): ProcessStat | undefined {
  const text = readOrUndefined(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** True while that process runs; false for a zombie. */
export function isAlive(identity: ProcessIdentity): boolean {
  const stat = processStat(identity.pid);
  return (
    stat !== undefined && stat.startTime === identity.startTime && stat.state !== "Z" && stat.state !== "X"
  );
}

/** How the processes of a container are found. */
export interface ProcessFamily {
  /** Leader of the session in which the container was started; it may have ended. */
  readonly leader: ProcessIdentity;
  /** A variable (`NAME=value`) in the environment of the container's processes only. */
  readonly variable: string;
}

/**
 * All live processes of a container, whatever they did to their group, session or parent, as far as they can
 * be found.
 */
export function familyMembers({ leader, variable }: ProcessFamily): number[] {
  const stats: ProcessStat[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = processStat(Number(name));
    if (stat !== undefined && stat.state !== "Z" && stat.state !== "X") stats.push(stat);
  }
  // A PID is reused when its process and session are gone: then the session is not ours.
  const reused = stats.some((stat) => stat.pid === leader.pid && stat.startTime !== leader.startTime);
  const children = Map.groupBy(stats, (stat) => stat.parent);
  const members = new Set<number>();
  const add = (pid: number): void => {
    if (members.has(pid)) return;
    members.add(pid);
    for (const child of children.get(pid) ?? []) add(child.pid);
  };
  for (const { pid, session } of stats)
    if (
      (session === leader.pid && !reused) ||
      readOrUndefined(`/proc/${pid}/environ`)?.split("\0").includes(variable)
    )
      add(pid);
  return [...members];
}

/** Finds a process by words of its command line: a wrapper that has not written its PID. */
export function findByArguments(...words: readonly string[]): ProcessIdentity | undefined {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const args = readOrUndefined(`/proc/${name}/cmdline`)?.split("\0");
    if (args !== undefined && words.every((word) => args.includes(word))) return processStat(Number(name));
  }
  return undefined;
}

/** PIDs of all processes of the machine. */
export function runningProcesses(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** A variable in the environment with which a process was started; undefined also if it cannot be read. */
export function processVariable(pid: number, name: string): string | undefined {
  return readOrUndefined(`/proc/${pid}/environ`)
    ?.split("\0")
    .find((line) => line.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

/** Sends a signal; ignores a process that has ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** ID of this boot of the machine. */
export function bootId(): string {
  return readOrUndefined("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
