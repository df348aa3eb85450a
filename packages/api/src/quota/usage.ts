import type { ResourceQuota } from "../generated/core/v1.ts";
import type { QuotaEvaluator } from "../kinds/quota-evaluator.ts";
import type { KubeObject } from "../objects/object.ts";
import { type Amounts, addTo, listOf, only, zero } from "../values/amounts.ts";
import { balanceOf, restricts } from "./check.ts";

/** A resource that quotas may count, with its objects in the namespace of a quota. */
export interface CountedResource {
  readonly evaluator: QuotaEvaluator;
  readonly objects: () => Iterable<KubeObject>;
}

/**
 * The new `status` of a quota: its limits, and the amount of each that the existing objects use. Names to
 * which no resource is charged keep their amount.
 */
export function quotaStatus(
  quota: ResourceQuota,
  resources: readonly CountedResource[],
): NonNullable<ResourceQuota["status"]> {
  const hard = quota.spec?.hard ?? {};
  const names = Object.keys(hard);
  const balance = balanceOf({ ...quota, status: { ...quota.status, hard } });
  // Pods and claims are charged under the same names where devices serve extended resources (KEP-5004).
  const sum: Amounts = new Map();
  for (const { evaluator, objects } of resources) {
    const charged = evaluator.matching(names);
    for (const name of charged) if (!sum.has(name)) sum.set(name, zero);
    if (charged.length === 0) continue;
    for (const object of objects()) {
      if (restricts(balance, evaluator, object)) addTo(sum, only(evaluator.usage(object), charged));
    }
  }
  const used: Amounts = only(balance.used, names);
  for (const [name, quantity] of sum) used.set(name, quantity);
  return { hard: { ...hard }, used: listOf(used) };
}
