import { readFileSync } from "node:fs";
import { capabilitiesOf } from "./capabilities.ts";
import type { CgroupTree } from "./cgroups.ts";
import type { MachineFacts } from "./spec.ts";

/** Capabilities and limits of the agent, which containers cannot exceed. */
export function machineFacts(cgroups: CgroupTree, seccomp: boolean): MachineFacts {
  const status = readFileSync("/proc/self/status", "utf8");
  const capabilities = capabilitiesOf(/^CapBnd:\s*(\w+)/m.exec(status)?.[1] ?? "");
  const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
  return {
    cgroupVersion: cgroups.version,
    capabilities,
    seccomp: seccomp && /^Seccomp:/m.test(status),
    // Without this capability the value of a process can only be raised.
    minOomScoreAdj: capabilities.has("SYS_RESOURCE") ? -1000 : own,
    swapAccounting: cgroups.swapAccounting,
  };
}
