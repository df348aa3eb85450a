import { labelSelectorOf, SelectorError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { VictimUnit } from "./units.ts";

export interface ViolatingUnit {
  readonly unit: VictimUnit;
  /** How many of its pods a budget protects. */
  readonly violations: number;
}

/**
 * The units with a pod of which a budget would be overdrawn if it and those before it were evicted, and the
 * others.
 * Upstream: framework/preemption/util.go, FilterVictimsWithPDBViolation.
 */
export function byBudgets(
  units: readonly VictimUnit[],
  budgets: readonly PodDisruptionBudget[],
): { readonly violating: readonly ViolatingUnit[]; readonly others: readonly VictimUnit[] } {
  const limits = budgets.flatMap((budget) => {
    const matches = matcherOf(budget);
    return matches === undefined ? [] : [{ budget, matches, left: budget.status?.disruptionsAllowed ?? 0 }];
  });
  const violates = (pod: Pod): boolean =>
    limits.some((limit) => {
      // One that the API server has let go already has been counted.
      const disrupted = Object.hasOwn(limit.budget.status?.disruptedPods ?? {}, pod.metadata.name);
      if (disrupted || !limit.matches(pod)) return false;
      limit.left--;
      return limit.left < 0;
    });
  const violating: ViolatingUnit[] = [];
  const others: VictimUnit[] = [];
  for (const unit of units) {
    const violations = unit.pods.filter(({ pod }) => violates(pod)).length;
    if (violations > 0) violating.push({ unit, violations });
    else others.push(unit);
  }
  return { violating, others };
}

/** A budget with an empty or a malformed selector protects nothing here. */
function matcherOf({ metadata, spec }: PodDisruptionBudget): ((pod: Pod) => boolean) | undefined {
  const selector = spec?.selector;
  const requirements =
    Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length;
  if (requirements === 0) return undefined;
  try {
    const selection = labelSelectorOf(selector);
    return (pod) =>
      pod.metadata.namespace === metadata.namespace &&
      Object.keys(pod.metadata.labels ?? {}).length > 0 &&
      selection.matches(pod.metadata.labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
