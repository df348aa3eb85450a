import { Quantity } from "@dray/api";
import type { Container, Node, Pod } from "@dray/api/core/v1";
import {
  claimsOfContainer,
  containerTotal,
  hasPodLevelRequests,
  isSidecar,
  podLimits,
  podQosClass,
  podRequests,
} from "@dray/api/pod";
import type { ResourceConfig } from "../runtime/config.ts";
import type { StartableContainer } from "../types/containers.ts";

/** Microseconds; upstream's `--cpu-cfs-quota-period`. */
const quotaPeriod = 100_000;
/** Minimum quota of the kernel. Upstream: pkg/kubelet/cm/helpers_linux.go. */
const minQuota = 1000;
const minShares = 2n;
const maxShares = 262_144n;

export interface BoundsOptions {
  /**
   * Counts resources of the node that devices of claims take (KEP-5517):
   * `status.nodeAllocatableResourceClaimStatuses`.
   */
  readonly useClaims: boolean;
}

type Requirements = NonNullable<Container["resources"]>;
type Side = keyof Pick<Requirements, "requests" | "limits">;

/**
 * Returns the bounds of a container by its requests and limits. Resources of claims raise a limit that the
 * container sets itself, never its weight.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, generateLinuxContainerResources,
 * calculateLinuxResources.
 */
export function containerResources(
  pod: Pod,
  container: StartableContainer,
  node: Node,
  options: BoundsOptions,
): ResourceConfig {
  const cpuLimit = limitOf(pod, container, "cpu", options);
  const memoryLimit = containerMemoryLimit(pod, container, options);
  const cpu = amountOf(container, "requests", "cpu") ?? limitOf(pod, container, "cpu", { useClaims: false });
  return {
    cpuShares: sharesOf(cpu),
    ...(isSet(cpuLimit) ? { cpuPeriod: quotaPeriod, cpuQuota: quotaOf(cpuLimit) } : {}),
    ...(memoryLimit === undefined ? {} : { memoryLimitBytes: memoryLimit }),
    oomScoreAdj: oomScore(pod, container, node, options),
  };
}

/** Returns the limit in bytes; undefined without one. */
export function containerMemoryLimit(
  pod: Pod,
  container: StartableContainer,
  options: BoundsOptions,
): number | undefined {
  const limit = limitOf(pod, container, "memory", options);
  return isSet(limit) ? Number(limit.value()) : undefined;
}

/**
 * Returns the bounds of all containers of a pod together. A limit applies if the pod sets it, or every
 * container does.
 *
 * Upstream: pkg/kubelet/cm/helpers_linux.go, ResourceConfigForPod.
 */
export function podResources(pod: Pod, options: BoundsOptions): ResourceConfig {
  const qos = podQosClass(pod);
  if (qos === "BestEffort") return { cpuShares: Number(minShares) };
  const limits = podLimits(pod, options);
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const limitIn = (name: string): Quantity | undefined => {
    const ofPod = amountOf(pod.spec, "limits", name);
    const declared =
      qos === "Guaranteed" || isSet(ofPod) || all.every((one) => isSet(amountOf(one, "limits", name)));
    return declared ? limits.get(name) : undefined;
  };
  const [cpuLimit, memoryLimit] = [limitIn("cpu"), limitIn("memory")];
  return {
    cpuShares: sharesOf(podRequests(pod, options).get("cpu")),
    ...(isSet(cpuLimit) ? { cpuPeriod: quotaPeriod, cpuQuota: quotaOf(cpuLimit) } : {}),
    ...(isSet(memoryLimit) ? { memoryLimitBytes: Number(memoryLimit.value()) } : {}),
  };
}

/**
 * Reports whether a pod is limited beyond the limits of its containers: by its own, or by a claim that they
 * share.
 */
export function hasOwnLimits({ spec, status }: Pod, { useClaims }: BoundsOptions): boolean {
  const shared = (status?.nodeAllocatableResourceClaimStatuses ?? []).some(
    ({ containers = [] }) => containers.length > 1,
  );
  return Object.keys(spec.resources?.limits ?? {}).length > 0 || (useClaims && shared);
}

/** Returns the maximum of two bounds, without limits that only one of them has. */
export function widerResources(a: ResourceConfig, b: ResourceConfig): ResourceConfig {
  const keys = ["cpuShares", "cpuPeriod", "cpuQuota", "memoryLimitBytes"] as const;
  const both = keys.flatMap((key) => {
    const [one, other] = [a[key], b[key]];
    return one === undefined || other === undefined ? [] : [[key, Math.max(one, other)]];
  });
  return Object.fromEntries(both);
}

/** A container without a limit has that of its pod. Upstream: getCPULimit, getMemoryLimit. */
function limitOf(
  pod: Pod,
  container: StartableContainer,
  name: "cpu" | "memory",
  { useClaims }: BoundsOptions,
): Quantity | undefined {
  const own = amountOf(container, "limits", name);
  if (!isSet(own)) return amountOf(pod.spec, "limits", name);
  const claimed = useClaims ? claimsOfContainer(pod, container.name).get(name) : undefined;
  return claimed === undefined ? own : own.add(claimed);
}

/**
 * Returns `oom_score_adj` of a container.
 *
 * Upstream: pkg/kubelet/qos/policy.go, GetContainerOOMScoreAdjust.
 */
function oomScore(pod: Pod, container: StartableContainer, node: Node, options: BoundsOptions): number {
  if (pod.spec.priorityClassName === "system-node-critical") return -997;
  const qos = podQosClass(pod);
  if (qos === "Guaranteed") return -997;
  if (qos === "BestEffort") return 1000;
  const capacity = Quantity.parse(node.status?.capacity?.["memory"] ?? "0").value();
  if (capacity === 0n) return 999;
  const score = (request: bigint): number => Number(1000n - (1000n * request) / capacity);
  const unassigned = hasPodLevelRequests(pod) ? unassignedMemory(pod, options) : 0n;
  const request = (one: StartableContainer): bigint => memoryRequest(pod, one, options) + unassigned;
  let latest = score(request(container));
  // A sidecar is not killed before the containers that it serves.
  if (isSidecarOf(pod, container))
    latest = Math.min(latest, Math.max(...pod.spec.containers.map((one) => score(request(one)))));
  return Math.min(999, Math.max(3, latest));
}

const isSidecarOf = ({ spec }: Pod, { name }: StartableContainer): boolean =>
  (spec.initContainers ?? []).some((one) => one.name === name && isSidecar(one));

/**
 * Memory that the pod requests beyond its containers, divided among them. Upstream:
 * remainingPodMemReqPerContainer.
 */
function unassignedMemory(pod: Pod, options: BoundsOptions): bigint {
  const whole = amountOf(pod.spec, "requests", "memory")?.value() ?? 0n;
  const assigned = containerTotal(pod, "requests", options).get("memory")?.value() ?? 0n;
  const count = pod.spec.containers.length + (pod.spec.initContainers ?? []).length;
  return whole > assigned ? (whole - assigned) / BigInt(count) : 0n;
}

/**
 * Containers that share a claim have equal parts of what it takes once. Upstream:
 * getEffectiveContainerMemoryRequest.
 */
function memoryRequest(pod: Pod, container: StartableContainer, { useClaims }: BoundsOptions): bigint {
  let total = amountOf(container, "requests", "memory")?.value() ?? 0n;
  if (!useClaims) return total;
  const bytes = (text: string | undefined): bigint =>
    text === undefined ? 0n : Quantity.parse(text).value();
  for (const status of pod.status?.nodeAllocatableResourceClaimStatuses ?? []) {
    const { containers = [], mapping = [], overhead = [] } = status;
    if (!containers.includes(container.name)) continue;
    const users = BigInt(containers.length);
    for (const { name, quantity } of mapping) if (name === "memory") total += bytes(quantity) / users;
    for (const { name, perPod, perContainer } of overhead)
      if (name === "memory") total += bytes(perPod) / users + bytes(perContainer);
  }
  return total;
}

function amountOf(
  { resources }: { readonly resources?: Partial<Pick<Requirements, Side>> },
  side: Side,
  name: string,
): Quantity | undefined {
  const text = resources?.[side]?.[name];
  return text === undefined ? undefined : Quantity.parse(text);
}

const isSet = (quantity: Quantity | undefined): quantity is Quantity =>
  quantity !== undefined && quantity.sign !== 0;

/** Upstream: pkg/kubelet/cm/helpers_linux.go, MilliCPUToShares. */
function sharesOf(cpu: Quantity | undefined): number {
  const shares = ((cpu?.milliValue() ?? 0n) * 1024n) / 1000n;
  return Number(shares < minShares ? minShares : shares > maxShares ? maxShares : shares);
}

/** Upstream: pkg/kubelet/cm/helpers_linux.go, MilliCPUToQuota. */
function quotaOf(cpu: Quantity): number {
  return Math.max(minQuota, Number((cpu.milliValue() * BigInt(quotaPeriod)) / 1000n));
}
