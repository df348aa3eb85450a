import type { Pod } from "@dray/api/core/v1";
import type { SchedulerCache } from "../cache/cache.ts";
import { extenderName } from "../extenders/extender.ts";
import type { Extenders } from "../extenders/extenders.ts";
import { BudgetExceeded, type EvaluationBudget } from "../framework/evaluation-budget.ts";
import { type Decision, refused, type SchedulingCycle, type Search } from "./scheduling-cycle.ts";

/**
 * Of the nodes that the plugins accept, the best that the extenders accept, too. While they were asked nodes
 * may have changed: the plugins are asked once more, about the nodes that are left.
 */
export async function decideWithExtenders(
  extenders: Extenders,
  cycle: SchedulingCycle,
  pod: Pod,
  search: Search,
  { cache, budget }: { readonly cache: SchedulerCache; readonly budget: EvaluationBudget },
): Promise<Decision> {
  const { nodes: left, rejections } = await extenders.filter(pod, search.feasible);
  const scores = left.length > 1 ? await extenders.prioritize(pod, left) : undefined;
  const { nodes } = cache;
  const all = new Map([...search.diagnosis.rejections, ...rejections]);
  const among = new Set(left.map(({ name }) => name));
  const again = left.length === 0 ? undefined : searchAgain(cycle, pod, nodes, among, budget);
  if (again !== undefined && again.feasible.length > 0) {
    const { state, feasible, results } = again;
    return { type: "placed", state, node: cycle.best(state, pod, feasible, results, scores) };
  }
  for (const [node, rejection] of again?.diagnosis.rejections ?? []) all.set(node, rejection);
  const plugins = [...search.plugins, ...(again?.plugins ?? [])];
  if (left.length < search.feasible.length) plugins.push(extenderName);
  const diagnosis = { nodes: nodes.length, rejections: all };
  return refused({ ...(again ?? search), diagnosis, plugins: [...new Set(plugins)] }, nodes);
}

/** Selectors evaluated so far are remembered, so that each turn brings the search forward. */
function searchAgain(
  cycle: SchedulingCycle,
  pod: Pod,
  nodes: SchedulerCache["nodes"],
  among: ReadonlySet<string>,
  budget: EvaluationBudget,
): Search {
  for (;;) {
    budget.begin();
    try {
      return cycle.search(pod, nodes, undefined, among);
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
    }
  }
}
