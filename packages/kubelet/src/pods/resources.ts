import { Quantity } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { podQosClass } from "@dray/api/pod";
import type { ResourceConfig } from "../runtime/service.ts";
import type { StartableContainer } from "./plan.ts";

/** Microseconds; upstream's `--cpu-cfs-quota-period`. */
const quotaPeriod = 100_000;
/** The kernel takes no less. Upstream: pkg/kubelet/cm/helpers_linux.go. */
const minQuota = 1000;
const minShares = 2n;

/**
 * The bounds of a container by its requests and limits.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, calculateLinuxResources; pkg/kubelet/qos/policy.go.
 */
export function containerResources(pod: Pod, container: StartableContainer, node: Node): ResourceConfig {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const amount = (list: Readonly<Record<string, string>>, name: string): Quantity | undefined =>
    list[name] === undefined ? undefined : Quantity.parse(list[name]);
  const cpuLimit = amount(limits, "cpu");
  const memoryLimit = amount(limits, "memory");
  const cpu = amount(requests, "cpu") ?? cpuLimit;
  const shares = cpu === undefined ? minShares : (cpu.milliValue() * 1024n) / 1000n;
  return {
    cpuShares: Number(shares < minShares ? minShares : shares),
    ...(cpuLimit === undefined || cpuLimit.sign === 0
      ? {}
      : {
          cpuPeriod: quotaPeriod,
          cpuQuota: Math.max(minQuota, Number((cpuLimit.milliValue() * BigInt(quotaPeriod)) / 1000n)),
        }),
    ...(memoryLimit === undefined || memoryLimit.sign === 0
      ? {}
      : { memoryLimitBytes: Number(memoryLimit.value()) }),
    oomScoreAdj: oomScore(pod, amount(requests, "memory") ?? memoryLimit, node),
  };
}

/** How early the system kills it where memory runs out. Upstream: pkg/kubelet/qos/policy.go, GetContainerOOMScoreAdjust. */
function oomScore(pod: Pod, memoryRequest: Quantity | undefined, node: Node): number {
  const qos = podQosClass(pod);
  if (qos === "Guaranteed") return -997;
  if (qos === "BestEffort") return 1000;
  const capacity = Number(Quantity.parse(node.status?.capacity?.["memory"] ?? "0").value());
  const request = Number(memoryRequest?.value() ?? 0n);
  if (capacity === 0) return 999;
  return Math.min(999, Math.max(3, 1000 - Math.floor((1000 * request) / capacity)));
}
