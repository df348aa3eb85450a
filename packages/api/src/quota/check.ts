import type { ResourceQuota, ScopedResourceSelectorRequirement } from "../generated/core/v1.ts";
import type { QuotaEvaluator, QuotaWrite } from "../kinds/quota-evaluator.ts";
import type { KubeObject } from "../objects/object.ts";
import { type Amounts, addTo, amountsOf, growth, only, textOf } from "../values/amounts.ts";

/** Quotas as one round of charging sees them: `used` is replaced by its new value. */
export interface Balance {
  readonly quota: ResourceQuota;
  readonly hard: Amounts;
  used: Amounts;
}

export function balanceOf(quota: ResourceQuota): Balance {
  return { quota, hard: amountsOf(quota.status?.hard), used: amountsOf(quota.status?.used) };
}

/** Whether a quota restricts an object at all: one of its names, and all of its scopes. */
export function restricts({ quota, hard }: Balance, evaluator: QuotaEvaluator, object: KubeObject): boolean {
  return (
    evaluator.matching([...hard.keys()]).length > 0 &&
    scopesOf(quota).every((requirement) => evaluator.inScope?.(requirement, object) ?? false)
  );
}

/** The scopes of a quota, both ways of writing them. */
function scopesOf({ spec }: ResourceQuota): ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

/** Charges a write to the balances, or answers why it is forbidden; then nothing is charged. */
export function charge(
  balances: readonly Balance[],
  evaluator: QuotaEvaluator,
  write: QuotaWrite,
): string | undefined {
  const { object, old } = write;
  const concerned = balances.filter((balance) => restricts(balance, evaluator, object));
  for (const { quota, hard, used } of concerned) {
    const restricted = evaluator.matching([...hard.keys()]);
    const { name } = quota.metadata;
    const why = evaluator.constraint?.(restricted, object);
    if (why !== undefined) return `failed quota: ${name}: ${why}`;
    if (restricted.some((resource) => !used.has(resource)))
      return `status unknown for quota: ${name}, resources: ${[...new Set(restricted)].sort().join(",")}`;
  }
  const usage = evaluator.usage(object);
  const negative = [...usage].filter(([, { sign }]) => sign < 0).map(([name]) => name);
  if (negative.length > 0) return `quota usage is negative for resource(s): ${negative.sort().join(",")}`;
  const charges: [Balance, Amounts][] = [];
  for (const balance of concerned) {
    // An object that comes into the scopes of a quota by an update is new to it.
    const before = write.operation === "UPDATE" && old && restricts(balance, evaluator, old);
    const more = before ? growth(usage, evaluator.usage(old)) : usage;
    const requested = only(more, balance.hard.keys());
    const why = exceeds(balance, nonZero(requested), write.subresource);
    if (why !== undefined) return why;
    charges.push([balance, requested]);
  }
  for (const [balance, requested] of charges) {
    const used = new Map(balance.used);
    addTo(used, requested);
    balance.used = used;
  }
  return undefined;
}

function nonZero(amounts: Amounts): Amounts {
  return new Map([...amounts].filter(([, quantity]) => quantity.sign !== 0));
}

function exceeds(
  { quota, hard, used }: Balance,
  requested: Amounts,
  subresource: string,
): string | undefined {
  // The status only reports the present state.
  if (subresource === "status") return undefined;
  const after = new Map(used);
  addTo(after, requested);
  // `requested` has resources of `hard` only, and all of them are in `after`.
  const over = [...requested.keys()].filter((name) => after.get(name)!.compare(hard.get(name)!) > 0);
  if (over.length === 0) return undefined;
  return `exceeded quota: ${quota.metadata.name}, requested: ${textOf(only(requested, over))}, used: ${textOf(only(used, over))}, limited: ${textOf(only(hard, over))}`;
}
