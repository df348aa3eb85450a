import { type KubernetesVersion, kubernetesVersions, Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import {
  type Amounts as ExactAmounts,
  hasPodLevelRequests,
  type PodResourceOptions,
  podRequests,
} from "@dray/api/pod";

/** Amounts by resource name: cpu in thousandths, everything else in units. */
export type Amounts = Map<string, number>;

export function amountsOf(list: Readonly<Record<string, string>> | undefined): Amounts {
  return rounded(Object.entries(list ?? {}).map(([name, text]) => [name, Quantity.parse(text)]));
}

function rounded(amounts: Iterable<readonly [string, Quantity]>): Amounts {
  const all: Amounts = new Map();
  for (const [name, quantity] of amounts)
    all.set(name, Number(name === "cpu" ? quantity.milliValue() : quantity.value()));
  return all;
}

/**
 * Neither cpu, memory, local storage nor pods: extended resources, huge pages, volumes. Upstream:
 * v1helper.IsScalarResourceName
 */
export function isScalarResource(name: string): boolean {
  return !basic.has(name);
}

const basic: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage", "pods", "storage"]);

export function addTo(sum: Amounts, more: Amounts, sign: 1 | -1 = 1): void {
  for (const [name, amount] of more) sum.set(name, (sum.get(name) ?? 0) + sign * amount);
}

/** Cpu and memory as scores count them. */
export interface ScoredAmounts {
  readonly cpu: number;
  readonly memory: number;
}

/** Requests that scores assume for containers without requests, so that they spread too. */
const assumed: ReadonlyMap<string, Quantity> = new Map([
  ["cpu", Quantity.ofMilli(100)],
  ["memory", Quantity.of(200 * 1024 * 1024)],
]);

/** Requests of a waiting pod. Upstream: noderesources/fit.go, computePodResourceRequest. */
export const requestsOf: (pod: Pod) => Amounts = remembered((pod) => rounded(podRequests(pod)));

/**
 * Requests of a waiting pod for scoring.
 * Upstream: noderesources/resource_allocation.go, calculatePodResourceRequest.
 */
export const scoredRequest: (pod: Pod) => Amounts = remembered((pod) =>
  rounded(podRequests(pod, { missing: new Map(assumed) })),
);

/**
 * Usage of a pod on its node, resizes in progress included, for filters and for scores.
 * Upstream: scheduler/framework/types.go, PodInfo.CalculateResource.
 */
export function takenBy(pod: Pod, version: KubernetesVersion): PodUsage {
  let taken = takenByVersion[version].get(pod);
  if (taken === undefined) {
    taken = computeTaken(pod, version);
    takenByVersion[version].set(pod, taken);
  }
  return taken;
}

export interface PodUsage {
  readonly requested: Amounts;
  readonly scored: ScoredAmounts;
}

const takenByVersion = Object.fromEntries(
  kubernetesVersions.map((version) => [version, new WeakMap<Pod, PodUsage>()]),
) as Record<KubernetesVersion, WeakMap<Pod, PodUsage>>;

function computeTaken(pod: Pod, version: KubernetesVersion): PodUsage {
  const options: PodResourceOptions = {
    useStatus: version,
    usePodStatus: version >= "1.36",
    useClaims: true,
  };
  const requested = podRequests(pod, options);
  const ownRequests = hasPodLevelRequests(pod);
  const missing = new Map([...assumed].filter(([name]) => !ownRequests || !requested.has(name)));
  return {
    requested: rounded(requested),
    scored: scored(missing.size === 0 ? requested : podRequests(pod, { ...options, missing })),
  };
}

function scored(amounts: ExactAmounts): ScoredAmounts {
  return {
    cpu: Number(amounts.get("cpu")?.milliValue() ?? 0),
    memory: Number(amounts.get("memory")?.value() ?? 0),
  };
}

function remembered<T extends object>(compute: (pod: Pod) => T): (pod: Pod) => T {
  const known = new WeakMap<Pod, T>();
  return (pod) => {
    let result = known.get(pod);
    if (result === undefined) {
      result = compute(pod);
      known.set(pod, result);
    }
    return result;
  };
}
