import { Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";

/** Amounts by resource name: cpu in thousandths, everything else in units. */
export type Amounts = Map<string, number>;

type List = Readonly<Record<string, string>> | undefined;

export function amountsOf(list: List): Amounts {
  const amounts: Amounts = new Map();
  for (const [name, text] of Object.entries(list ?? {})) {
    const quantity = Quantity.parse(text);
    amounts.set(name, Number(name === "cpu" ? quantity.milliValue() : quantity.value()));
  }
  return amounts;
}

export function addTo(sum: Amounts, more: Amounts, sign: 1 | -1 = 1): void {
  for (const [name, amount] of more) sum.set(name, (sum.get(name) ?? 0) + sign * amount);
}

function raiseTo(most: Amounts, other: Amounts): void {
  for (const [name, amount] of other) most.set(name, Math.max(most.get(name) ?? 0, amount));
}

const cache = new WeakMap<Pod, Amounts>();

/**
 * What a pod takes from its node: the sum of its containers and sidecars, or an init container with the sidecars
 * before it if that is more; plus overhead; pod-level requests take the place of the sum (KEP-753, KEP-2837).
 */
export function requestsOf(pod: Pod): Amounts {
  const known = cache.get(pod);
  if (known !== undefined) return known;
  const total: Amounts = new Map();
  for (const container of pod.spec.containers) addTo(total, amountsOf(container.resources?.requests));
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    const own = amountsOf(container.resources?.requests);
    if (isSidecar(container)) {
      addTo(sidecars, own);
      raiseTo(starting, sidecars);
    } else {
      addTo(own, sidecars);
      raiseTo(starting, own);
    }
  }
  addTo(total, sidecars);
  raiseTo(total, starting);
  for (const [name, amount] of amountsOf(pod.spec.resources?.requests)) total.set(name, amount);
  addTo(total, amountsOf(pod.spec.overhead));
  cache.set(pod, total);
  return total;
}

/** For scoring: containers that ask for nothing count as a little, so that they spread too. */
const assumed: ReadonlyMap<string, number> = new Map([
  ["cpu", 100],
  ["memory", 200 * 1024 * 1024],
]);

/** The pod's request of cpu or memory with the assumption for containers without one. */
export function nonzeroRequest(pod: Pod, resource: "cpu" | "memory"): number {
  const asked = requestsOf(pod).get(resource) ?? 0;
  const silent = pod.spec.containers.filter((c) => c.resources?.requests?.[resource] === undefined).length;
  const podLevel = pod.spec.resources?.requests?.[resource] !== undefined;
  return asked + (podLevel ? 0 : silent * (assumed.get(resource) ?? 0));
}
