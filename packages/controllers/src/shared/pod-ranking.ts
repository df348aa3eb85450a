import type { Pod } from "@dray/api/core/v1";
import { isPodActive, isPodReady } from "@dray/api/pod";
import { readySince } from "./pods.ts";

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const phases = ["Pending", "Unknown", "Running"];

/** Facts about the siblings of a ReplicaSet's pods, for ranking. */
export interface PodSiblings {
  /** Pods of all sets with the same owner. */
  readonly related: readonly Pod[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Compare = (a: Pod, b: Pod) => number;

/**
 * The pods in the order in which they can be spared. With siblings also their deletion cost and their
 * neighbours count, and ages are compared by their order of magnitude (KEP-2185, KEP-2255), so that not only
 * the youngest pods go.
 *
 * Upstream: pkg/controller/controller_utils.go, ActivePods and ActivePodsWithRanks.
 */
export function byDeletionPreference(pods: readonly Pod[], siblings?: PodSiblings): Pod[] {
  const neighbours = new Map<string, number>();
  for (const { spec } of (siblings?.related ?? []).filter(isPodActive))
    neighbours.set(spec.nodeName ?? "", (neighbours.get(spec.nodeName ?? "") ?? 0) + 1);
  const crowd = ({ spec }: Pod): number => neighbours.get(spec.nodeName ?? "") ?? 0;
  const byAge = (timeOf: (pod: Pod) => number): Compare =>
    siblings === undefined ? descending(timeOf) : byMagnitude(timeOf, siblings.now);
  const order: readonly Compare[] = [
    ascending(({ spec }) => (spec.nodeName ? 1 : 0)),
    ascending(({ status }) => phases.indexOf(status?.phase ?? "Pending")),
    ascending((pod) => (isPodReady(pod) ? 1 : 0)),
    ...(siblings === undefined ? [] : [ascending(costOf), descending(crowd)]),
    (a, b) => (isPodReady(a) && isPodReady(b) ? byAge((pod) => readySince(pod) ?? 0)(a, b) : 0),
    descending(restartsOf),
    byAge(({ metadata }) => Date.parse(metadata.creationTimestamp)),
  ];
  return pods.toSorted((a, b) => {
    for (const compare of order) {
      const difference = compare(a, b);
      if (difference !== 0) return difference;
    }
    return a.metadata.name < b.metadata.name ? -1 : 1;
  });
}

function ascending(measure: (pod: Pod) => number): Compare {
  return (a, b) => measure(a) - measure(b);
}

function descending(measure: (pod: Pod) => number): Compare {
  return (a, b) => measure(b) - measure(a);
}

/** The younger first; of about the same age, the one with the lower uid. */
function byMagnitude(timeOf: (pod: Pod) => number, now: number): Compare {
  const magnitudeOf = (pod: Pod): number => {
    const age = now - timeOf(pod);
    return age > 0 ? Math.floor(Math.log2(age * 1e6)) : -1;
  };
  return (a, b) => {
    if (timeOf(a) === timeOf(b)) return 0;
    return magnitudeOf(a) - magnitudeOf(b) || (a.metadata.uid < b.metadata.uid ? -1 : 1);
  };
}

function costOf({ metadata }: Pod): number {
  const cost = metadata.annotations?.[deletionCost] ?? "";
  return /^(0|-?[1-9][0-9]*)$/.test(cost) ? Number(cost) : 0;
}

function restartsOf({ status }: Pod): number {
  const counts = (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
  return counts.reduce((most, count) => Math.max(most, count), 0);
}
