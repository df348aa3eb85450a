/** Memory and processor time of running programs, from proc(5). */
import { readFileSync } from "node:fs";
import type { Program } from "../interop/processes.ts";

/** Resident set size in MiB (VmRSS of proc(5)). */
export const resident = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/**
 * Milliseconds of CPU that the programs have used (utime and stime of proc(5), in hundredths of a second).
 */
export function cpuTime(programs: readonly Pick<Program, "pid">[]): number {
  return programs.reduce((sum, { pid }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}
