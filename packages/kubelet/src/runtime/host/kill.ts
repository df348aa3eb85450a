import { readlinkSync } from "node:fs";
import { familyMembers, type ProcessFamily, signal } from "./processes.ts";

/** Rounds, 1 ms apart and then twice as long each time, in which the tools outside have time to reap. */
const orderedRounds = 9;
const maxRounds = 14;

/**
 * Kills all processes of a family, those in other pid name spaces first. A tool outside, such as nsenter, is
 * the parent of the process that it started there, and so the only one that can reap it; a name space whose
 * first process has ended waits for that (pid_namespaces(7)).
 */
export async function killFamily(family: ProcessFamily): Promise<void> {
  for (let round = 0; round < maxRounds; round++) {
    const members = familyMembers(family).filter((pid) => pid !== process.pid);
    if (members.length === 0) return;
    const inside = round < orderedRounds ? members.filter(isInside) : [];
    for (const pid of inside.length > 0 ? inside : members) signal(pid, "SIGKILL");
    // A tool stops when what it waits for was stopped.
    for (const pid of members) signal(pid, "SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, 2 ** round));
  }
}

/** False also for a process whose name space cannot be read. */
function isInside(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync("/proc/self/ns/pid");
  } catch {
    return false;
  }
}
