import type { Pod } from "@dray/api/core/v1";
import type { SchedulerCache } from "../cache/cache.ts";
import { extenderName } from "../extenders/extender.ts";
import type { Extenders } from "../extenders/extenders.ts";
import type { EvaluationBudget } from "../framework/evaluation-budget.ts";
import { type Decision, refused, type SchedulingCycle, type Search } from "./scheduling-cycle.ts";

interface ExtenderOptions {
  readonly extenders: Extenders;
  readonly cache: SchedulerCache;
  readonly budget: EvaluationBudget;
}

/**
 * Of the nodes that the plugins accept, the best that the extenders accept, too. While they were asked nodes
 * may have changed: the plugins are asked once more, about the nodes that are left.
 */
export async function decideWithExtenders(
  { extenders, cache, budget }: ExtenderOptions,
  cycle: SchedulingCycle,
  pod: Pod,
  search: Search,
): Promise<Decision> {
  const { nodes: left, rejections } = await extenders.filter(pod, search.feasible);
  const scores = left.length > 1 ? await extenders.prioritize(pod, left) : undefined;
  const { nodes } = cache;
  const all = new Map([...search.diagnosis.rejections, ...rejections]);
  const among = new Set(left.map(({ name }) => name));
  const again = left.length === 0 ? undefined : budget.repeat(() => cycle.search(pod, nodes, { among }));
  if (again !== undefined && again.feasible.length > 0) {
    return { type: "placed", state: again.state, node: cycle.best(pod, again, scores) };
  }
  for (const [node, rejection] of again?.diagnosis.rejections ?? []) all.set(node, rejection);
  const plugins = [...search.plugins, ...(again?.plugins ?? [])];
  if (left.length < search.feasible.length) plugins.push(extenderName);
  const diagnosis = { nodes: nodes.length, rejections: all };
  return refused({ ...(again ?? search), diagnosis, plugins: [...new Set(plugins)] }, nodes);
}
