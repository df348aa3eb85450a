import { Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { podRequests } from "@dray/api/pod";
import { type EvictionSignal, evictionSignals, type StarvedResource } from "./signals.ts";

/** Usage of a container, as far as it is known. */
export interface ContainerUsage {
  readonly name: string;
  readonly memory?: bigint;
  /** Size of its logs in bytes. */
  readonly logs: bigint;
}

/** Usage of a pod, as far as it is known. */
export interface PodUsage {
  /** Bytes of the working sets; 0 if unknown. */
  readonly memory: bigint;
  /** Bytes and inodes of logs and volumes on the node's own file system. */
  readonly disk: bigint;
  readonly inodes: bigint;
  readonly containers: readonly ContainerUsage[];
}

/** Usage of the resource of a signal. */
type Measure = (usage: PodUsage) => bigint;

/** Undefined for a pod with unknown usage. */
export type UsageOf = (pod: Pod) => PodUsage | undefined;

/**
 * Orders pods for eviction: pods that use more than they have requested first, of these the ones of the
 * lowest priority, of these the ones that are furthest above their requests. If processes run short only
 * priority counts, since pods request none, and runtimes do not report how many a pod has.
 *
 * Upstream: pkg/kubelet/eviction/helpers.go, rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure.
 */
export function rankPods<T extends { readonly pod: Pod }>(
  signal: EvictionSignal,
  pods: readonly T[],
  usageOf: UsageOf,
  dedicatedImageFs: boolean,
): T[] {
  const { resource } = evictionSignals[signal];
  const byPriority = (a: Pod, b: Pod): number => priorityOf(a) - priorityOf(b);
  if (resource === "pids") return pods.toSorted((a, b) => byPriority(a.pod, b.pod));
  const measure = measureOf(signal, dedicatedImageFs);
  return pods.toSorted(({ pod: a }, { pod: b }) => {
    const [usageA, usageB] = [usageOf(a), usageOf(b)];
    // A pod with unknown usage goes first.
    const unknown = first(usageA === undefined, usageB === undefined);
    if (unknown !== 0 || usageA === undefined || usageB === undefined) return unknown || byPriority(a, b);
    const exceeds = (pod: Pod, usage: PodUsage): boolean => measure(usage) > requestOf(pod, resource);
    // Upstream subtracts the request in bytes from inodes too, which ranks pods without a request first.
    const above = (pod: Pod, usage: PodUsage): bigint =>
      measure(usage) - requestOf(pod, resource === "inodes" ? "ephemeral-storage" : resource);
    const difference = above(b, usageB) - above(a, usageA);
    return (
      first(exceeds(a, usageA), exceeds(b, usageB)) ||
      byPriority(a, b) ||
      (difference < 0n ? -1 : difference > 0n ? 1 : 0)
    );
  });
}

/** On a dedicated file system of images no measured usage of a pod counts. */
function measureOf(signal: EvictionSignal, dedicatedImageFs: boolean): Measure {
  if (signal === "memory.available") return ({ memory }) => memory;
  if (dedicatedImageFs && signal.startsWith("imagefs.")) return () => 0n;
  return evictionSignals[signal].resource === "inodes" ? ({ inodes }) => inodes : ({ disk }) => disk;
}

function first(a: boolean, b: boolean): number {
  return Number(b) - Number(a);
}

function priorityOf({ spec }: Pod): number {
  return Number(spec.priority ?? 0);
}

function requestOf(pod: Pod, resource: StarvedResource): bigint {
  return podRequests(pod).get(resource)?.value() ?? 0n;
}

/** A resource of which the node has less than a threshold. */
export interface Starvation {
  readonly resource: StarvedResource;
  readonly threshold: Quantity;
  readonly available: Quantity;
}

/**
 * Returns the message of an eviction, with the usage of containers beyond their requests.
 *
 * Upstream: pkg/kubelet/eviction/helpers.go, evictionMessage.
 */
export function evictionMessage(
  pod: Pod,
  usage: PodUsage | undefined,
  { resource, threshold, available }: Starvation,
): string {
  const message =
    `The node was low on resource: ${resource}. ` +
    `Threshold quantity: ${threshold}, available: ${available}. `;
  const { containers, initContainers = [] } = pod.spec;
  const texts = (usage?.containers ?? []).map((container) => {
    const spec = [...containers, ...initContainers].find(({ name }) => name === container.name);
    const bytes =
      resource === "memory"
        ? container.memory
        : resource === "ephemeral-storage"
          ? container.logs
          : undefined;
    if (spec === undefined || bytes === undefined) return "";
    const used = Quantity.of(bytes, "BinarySI");
    const request = Quantity.parse(spec.resources?.requests?.[resource] ?? "0");
    if (used.compare(request) <= 0) return "";
    return `Container ${container.name} was using ${used}, request is ${request}, has larger consumption of ${resource}. `;
  });
  return message + texts.join("");
}
