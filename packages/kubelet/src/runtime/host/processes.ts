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
  /** CPU time in clock ticks. */
  readonly ticks: number;
  /** CPU time of the children for which it has waited, and of theirs. */
  readonly childTicks: number;
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
    ticks: Number(fields[11]) + Number(fields[12]),
    childTicks: Number(fields[13]) + Number(fields[14]),
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

/** How the processes of a container or a command are found. */
export interface ProcessFamily {
  /** Leaders of its sessions, which may have ended. */
  readonly leaders: readonly ProcessIdentity[];
  /** A variable (`NAME=value`) in the environment of its processes only. */
  readonly variable?: string;
}

/** All processes of the machine, zombies among them. */
export function processStats(): ProcessStat[] {
  return runningProcesses().flatMap((pid) => processStat(pid) ?? []);
}

/** Processes of a container or a command. */
export type FamilyStats = readonly ProcessStat[];

/**
 * Finds the processes of families, whatever they did to their group, session or parent, as far as they can be
 * found.
 */
export function familiesOf<K>(
  stats: FamilyStats,
  families: ReadonlyMap<K, ProcessFamily>,
): ReadonlyMap<K, FamilyStats> {
  const children = Map.groupBy(stats, (stat) => stat.parent);
  const found = new Map([...families.keys()].map((key) => [key, new Set<ProcessStat>()]));
  const add = (members: Set<ProcessStat>, stat: ProcessStat): void => {
    if (members.has(stat)) return;
    members.add(stat);
    for (const child of children.get(stat.pid) ?? []) add(members, child);
  };
  const byPid = new Map(stats.map((stat) => [stat.pid, stat]));
  const byVariable = new Map<string, K>();
  const bySession = new Map<number, K>();
  for (const [key, { leaders, variable }] of families) {
    if (variable !== undefined) byVariable.set(variable, key);
    // A PID is reused when its process and session are gone: then the session is not ours.
    for (const { pid, startTime } of leaders)
      if ((byPid.get(pid)?.startTime ?? startTime) === startTime) bySession.set(pid, key);
  }
  for (const stat of stats) {
    const { pid, session } = stat;
    const variables =
      byVariable.size === 0 ? [] : (readOrUndefined(`/proc/${pid}/environ`)?.split("\0") ?? []);
    const keys = [
      bySession.get(session),
      bySession.get(pid),
      ...variables.map((variable) => byVariable.get(variable)),
    ];
    for (const key of keys) {
      const members = key === undefined ? undefined : found.get(key);
      if (members !== undefined) add(members, stat);
    }
  }
  return new Map([...found].map(([key, members]) => [key, [...members]]));
}

/** All live processes of a family. */
export function familyMembers(family: ProcessFamily): number[] {
  const live = processStats().filter(({ state }) => state !== "Z" && state !== "X");
  return (familiesOf(live, new Map([["", family]])).get("") ?? []).map(({ pid }) => pid);
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

/**
 * True for a process that handles a signal, or blocks it until it takes it; also if that cannot be read. The
 * first process of a pid name space gets no other signal from outside but SIGKILL and SIGSTOP
 * (pid_namespaces(7)).
 */
export function receivesSignal(pid: number, number: number): boolean {
  const status = readOrUndefined(`/proc/${pid}/status`);
  const sets = [...(status ?? "").matchAll(/^Sig(?:Cgt|Blk):\s*([0-9a-f]+)$/gm)];
  if (sets.length === 0) return true;
  return sets.some(([, mask]) => (BigInt(`0x${mask}`) >> BigInt(number - 1)) % 2n === 1n);
}

/** Sends a signal; ignores a process that has ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * True when no thread of a process runs: each is stopped or has ended. The state of the process is that of
 * its first thread alone, which a signal stops before others have ended their system calls.
 */
export function isStopped(pid: number): boolean {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return true;
  }
  return threads.every((thread) => {
    const line = readOrUndefined(`/proc/${pid}/task/${thread}/stat`);
    return ["T", "t", "Z", "X", undefined].includes(line && parseStat(line)?.state);
  });
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
