import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Bytes of memory that the process holds (resident set), itself alone; undefined if the system does not tell.
 */
export function processMemory(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return memoryOfPs(pid);
  }
}

/** For systems without procfs. */
function memoryOfPs(pid: number): number | undefined {
  try {
    const text = execFileSync("ps", ["-o", "rss=", "-p", `${pid}`], { encoding: "utf8", stdio: "pipe" });
    return /^\s*\d+\s*$/.test(text) ? Number(text) * 1024 : undefined;
  } catch {
    return undefined;
  }
}
