import { readdirSync, readFileSync } from "node:fs";
import { isAlive, type ProcessStat, processStat } from "../runtime/host/processes.ts";

/** Live processes of the machine with these words on their command line, in whatever pid name space. */
export function processesWith(...words: readonly string[]): ProcessStat[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const line = commandLine(pid);
      return words.every((word) => line.includes(word));
    })
    .map((pid) => processStat(Number(pid)))
    .filter((stat): stat is ProcessStat => stat !== undefined && isAlive(stat));
}

function commandLine(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}
