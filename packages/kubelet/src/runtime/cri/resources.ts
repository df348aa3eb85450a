import { LinuxContainerResources } from "@dray/rpc/cri/v1";
import type { ResourceConfig } from "../config.ts";

/** Converts bounds; in CRI, 0 and "" leave a bound unchanged. */
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

/** Lists bounds for which CRI has no field. */
export function unsupportedResources({ pidsLimit }: ResourceConfig, cgroup2: boolean): string[] {
  return pidsLimit === undefined || cgroup2 ? [] : ["limit of processes of a container with cgroup v1"];
}
