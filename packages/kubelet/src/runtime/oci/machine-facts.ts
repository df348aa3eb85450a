import { readFileSync } from "node:fs";
import { capabilitiesOf } from "./capabilities.ts";
import type { CgroupTree } from "./cgroups.ts";
import type { MachineFacts } from "./spec.ts";

/** What the agent itself has, and so can give. */
export function machineFacts(cgroups: CgroupTree, seccomp: boolean): MachineFacts {
  const status = readFileSync("/proc/self/status", "utf8");
  const capabilities = capabilitiesOf(/^CapBnd:\s*(\w+)/m.exec(status)?.[1] ?? "");
  const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
  return {
    cgroupVersion: cgroups.version,
    capabilities,
    seccomp: seccomp && /^Seccomp:/m.test(status),
    // Without this right a process can only be made a likelier victim than the agent.
    minOomScoreAdj: capabilities.has("SYS_RESOURCE") ? -1000 : own,
    swapAccounting: cgroups.swapAccounting,
  };
}
