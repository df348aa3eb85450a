/**
 * Scores of nodes by what is requested of their resources.
 * Upstream: plugins/noderesources/resource_allocation.go, least_allocated.go, most_allocated.go,
 * requested_to_capacity_ratio.go, balanced_allocation.go
 */
import type { KubernetesVersion } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { maxScore } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { isScalarResource, requestsOf, scoredRequest } from "../../framework/resources.ts";
import type { ResourceWeight, ScoringStrategy } from "../args.ts";
import { scoreByShape } from "../helper/score-shape.ts";

/** Scores amounts of resources with the pod, without it, and of the node; skips those without capacity. */
type Scorer = (requested: Float64Array, allocated: Float64Array, allocatable: Float64Array) => number;

/**
 * Devices of the class that stands for an extended resource: those that the node can reach; undefined: there
 * is no class.
 */
export type DeviceTotals = (
  node: NodeInfo,
  resource: string,
) => { readonly devices: number; readonly allocated: number } | undefined;

export interface ResourceScorerOptions {
  /** Containers that ask for no cpu or memory count with an assumption (NonZeroRequested). */
  readonly assumed: boolean;
  /** Absent where devices serve no extended resources. */
  readonly deviceTotals?: DeviceTotals | undefined;
}

export function resourceScorer(
  resources: readonly ResourceWeight[],
  scorer: Scorer,
  { assumed, deviceTotals }: ResourceScorerOptions,
): (requests: Float64Array, node: NodeInfo) => number {
  const requested = new Float64Array(resources.length);
  const allocated = new Float64Array(resources.length);
  const allocatable = new Float64Array(resources.length);
  const optional = resources.map(({ name }) => isScalarResource(name));
  return (requests, node) => {
    for (let i = 0; i < resources.length; i++) {
      const { name } = resources[i]!;
      const request = requests[i]!;
      // An extended resource that the pod does not ask for says nothing about the node.
      const asked = !optional[i] || request !== 0;
      let capacity = asked ? (node.allocatable.get(name) ?? 0) : 0;
      let taken = capacity === 0 ? 0 : takenOf(node, name, assumed);
      if (capacity === 0 && asked && optional[i]) {
        // No device plugin offers it: devices may serve it (KEP-5004).
        const totals = deviceTotals?.(node, name);
        capacity = totals?.devices ?? 0;
        taken = totals?.allocated ?? 0;
      }
      allocatable[i] = capacity;
      allocated[i] = taken;
      requested[i] = capacity === 0 ? 0 : taken + request;
    }
    return scorer(requested, allocated, allocatable);
  };
}

/**
 * Returns how much of all nodes of a placement is used with pods that would run there (MostAllocated),
 * whatever the strategy for nodes is. Upstream: resource_allocation.go, scorePlacement.
 */
export function placementScore(
  resources: readonly ResourceWeight[],
  nodes: readonly NodeInfo[],
  pods: readonly Pod[],
): number {
  const requested = new Float64Array(resources.length);
  const allocatable = new Float64Array(resources.length);
  for (const pod of pods)
    requestList(pod, resources, { assumed: true }).forEach((amount, i) => {
      requested[i]! += amount;
    });
  const isAsked = resources.map(({ name }, i) => !isScalarResource(name) || requested[i] !== 0);
  for (const node of nodes)
    resources.forEach(({ name }, i) => {
      const capacity = isAsked[i] ? (node.allocatable.get(name) ?? 0) : 0;
      if (capacity === 0) return;
      allocatable[i]! += capacity;
      requested[i]! += takenOf(node, name, true);
    });
  return strategyScorer({ type: "MostAllocated", resources })(requested, requested, allocatable);
}

function takenOf(node: NodeInfo, resource: string, assumed: boolean): number {
  if (assumed && (resource === "cpu" || resource === "memory")) return node.scored[resource];
  return node.requested.get(resource) ?? 0;
}

/** Requests of the pod, in the order of the resources. */
export function requestList(
  pod: Pod,
  resources: readonly ResourceWeight[],
  { assumed }: { readonly assumed: boolean },
): Float64Array {
  const amounts = assumed ? scoredRequest(pod) : requestsOf(pod);
  return Float64Array.from(resources, ({ name }) => amounts.get(name) ?? 0);
}

export function strategyScorer({ type, resources, requestedToCapacityRatio }: ScoringStrategy): Scorer {
  switch (type) {
    case "LeastAllocated":
      return weighted(resources, (requested, capacity) =>
        requested > capacity ? 0 : Math.floor(((capacity - requested) * maxScore) / capacity),
      );
    case "MostAllocated":
      return weighted(resources, (requested, capacity) =>
        Math.floor((Math.min(requested, capacity) * maxScore) / capacity),
      );
    case "RequestedToCapacityRatio":
      return byRatio(resources, scoreByShape(requestedToCapacityRatio?.shape ?? []));
  }
}

function weighted(
  resources: readonly ResourceWeight[],
  scoreOf: (requested: number, capacity: number) => number,
): Scorer {
  return (requested, _allocated, allocatable) => {
    let score = 0;
    let weights = 0;
    for (let i = 0; i < resources.length; i++) {
      if (allocatable[i] === 0) continue;
      const { weight } = resources[i]!;
      score += scoreOf(requested[i]!, allocatable[i]!) * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.floor(score / weights);
  };
}

/** Resources that score nothing do not count, and the mean is rounded. */
function byRatio(
  resources: readonly ResourceWeight[],
  scoreOf: (requested: number, capacity: number) => number,
): Scorer {
  return (requested, _allocated, allocatable) => {
    let score = 0;
    let weights = 0;
    for (let i = 0; i < resources.length; i++) {
      const own = allocatable[i] === 0 ? 0 : scoreOf(requested[i]!, allocatable[i]!);
      if (own <= 0) continue;
      const { weight } = resources[i]!;
      score += own * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.round(score / weights);
  };
}

/**
 * Returns how evenly resources are used. Until 1.35 with the pod; from 1.36 on what the pod makes of it: 75
 * where it changes nothing.
 */
export function balanceScorer(version: KubernetesVersion): Scorer {
  if (version < "1.36") return (requested, _allocated, allocatable) => balance(requested, allocatable);
  return (requested, allocated, allocatable) => {
    const gain = balance(requested, allocatable) - balance(allocated, allocatable);
    return maxScore / 2 + Math.trunc((maxScore / 2 + gain) / 2);
  };
}

function balance(requested: Float64Array, allocatable: Float64Array): number {
  let count = 0;
  let total = 0;
  for (let i = 0; i < requested.length; i++) {
    if (allocatable[i] === 0) continue;
    count++;
    total += share(requested[i]!, allocatable[i]!);
  }
  if (count < 2) return maxScore;
  const mean = total / count;
  let squares = 0;
  let distance = 0;
  for (let i = 0; i < requested.length; i++) {
    if (allocatable[i] === 0) continue;
    const own = share(requested[i]!, allocatable[i]!);
    squares += (own - mean) * (own - mean);
    distance = own - distance;
  }
  // Exactly half the distance for two shares: rounding must not differ from upstream's.
  const deviation = count === 2 ? Math.abs(distance / 2) : Math.sqrt(squares / count);
  return Math.trunc((1 - deviation) * maxScore);
}

function share(requested: number, capacity: number): number {
  return Math.min(requested / capacity, 1);
}
