import { LinuxContainerResources } from "@dray/rpc/cri/v1";
import type { ResourceConfig } from "../config.ts";

/** What of the bounds CRI has a field for; 0 and "" stand for "as it is" there. */
export function criResources(resources: ResourceConfig, cgroup2: boolean): LinuxContainerResources {
  const int64 = (value: number | undefined): bigint => BigInt(Math.trunc(value ?? 0));
  const { pidsLimit } = resources;
  return LinuxContainerResources.fromPartial({
    cpuShares: int64(resources.cpuShares),
    cpuPeriod: int64(resources.cpuPeriod),
    cpuQuota: int64(resources.cpuQuota),
    cpusetCpus: resources.cpusetCpus ?? "",
    cpusetMems: resources.cpusetMems ?? "",
    memoryLimitInBytes: int64(resources.memoryLimitBytes),
    oomScoreAdj: int64(resources.oomScoreAdj),
    unified: cgroup2 && pidsLimit !== undefined ? { "pids.max": String(pidsLimit) } : {},
  });
}

/** What of the bounds of a container the runtime is not told: CRI has no field for it. */
export function unsupportedResources({ pidsLimit }: ResourceConfig, cgroup2: boolean): string[] {
  return pidsLimit === undefined || cgroup2 ? [] : ["limit of processes of a container with cgroup v1"];
}
