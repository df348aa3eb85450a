import { readFile } from "node:fs/promises";
import type { ContainerStats } from "../service.ts";
import {
  type FamilyStats,
  familiesOf,
  type ProcessFamily,
  type ProcessStat,
  processStats,
} from "./processes.ts";

/** Nanoseconds of the unit of times in /proc/PID/stat, which is 1/100 s for programs on every Linux. */
const tick = 1e7;

type Usage = Pick<ContainerStats, "cpuNanoseconds" | "memoryWorkingSetBytes">;

/** CPU time of a container at its last measurement, in ticks. */
interface Account {
  /** Processes by PID and start time. */
  readonly processes: ReadonlyMap<string, ProcessStat>;
  /** Time of processes that have ended, and that no other process of the container has taken over. */
  readonly lost: number;
}

/**
 * Usage of containers without cgroups that count it, from /proc. A process that ends adds its time to that of
 * the parent that waits for it. The time of one that no parent in the container waits for is counted up to
 * its last measurement, so that the total never decreases. Commands that `exec` runs between two measurements
 * are not counted.
 */
export class ProcessUsage {
  #accounts: ReadonlyMap<string, Account> = new Map();

  /** Returns the usage by container; `families` has all that run. */
  async measure(families: ReadonlyMap<string, ProcessFamily>): Promise<ReadonlyMap<string, Usage>> {
    if (families.size === 0) return new Map();
    const members = familiesOf(processStats(), families);
    const accounts = new Map([...members].map(([id, stats]) => [id, this.#account(id, stats)]));
    this.#accounts = accounts;
    const usages = [...members].map(async ([id, stats]): Promise<[string, Usage]> => {
      const ticks = stats.reduce((sum, stat) => sum + timeOf(stat), accounts.get(id)?.lost ?? 0);
      const memory = await Promise.all(stats.map(({ pid }) => memoryOf(pid)));
      return [
        id,
        { cpuNanoseconds: ticks * tick, memoryWorkingSetBytes: memory.reduce((sum, one) => sum + one, 0) },
      ];
    });
    return new Map(await Promise.all(usages));
  }

  #account(id: string, stats: FamilyStats): Account {
    const before = this.#accounts.get(id);
    const processes = new Map(stats.map((stat) => [keyOf(stat), stat]));
    if (before === undefined) return { processes, lost: 0 };
    let takenOver = 0;
    let ended = 0;
    for (const [key, stat] of before.processes) {
      const now = processes.get(key);
      if (now === undefined) ended += timeOf(stat);
      else takenOver += now.childTicks - stat.childTicks;
    }
    return { processes, lost: before.lost + Math.max(0, ended - takenOver) };
  }
}

function keyOf({ pid, startTime }: ProcessStat): string {
  return `${pid} ${startTime}`;
}

function timeOf({ ticks, childTicks }: ProcessStat): number {
  return ticks + childTicks;
}

/**
 * Memory of a process in bytes: its share of each page that it has (proc(5), Pss), so that pages that several
 * share count once. Of a process that the agent may not inspect, what is in memory for it.
 */
async function memoryOf(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "latin1").catch(() => "");
  const share = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  if (share !== undefined) return Number(share) * 1024;
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
