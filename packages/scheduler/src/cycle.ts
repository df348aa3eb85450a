import type { Pod } from "@dray/api/core/v1";
import type { CycleState, Plugin, Rejection } from "./framework.ts";
import type { Diagnosis } from "./message.ts";
import type { NodeInfo } from "./node-info.ts";

/** Up to so many nodes all are looked at; of more, a share that shrinks with their number. */
const leastFeasible = 100;
const leastPercentage = 5;

export type Decision =
  | { readonly type: "placed"; readonly node: NodeInfo; readonly state: CycleState }
  | {
      readonly type: "refused";
      readonly state: CycleState;
      readonly diagnosis: Diagnosis;
      /** Plugins whose rejections keep the pod waiting. */
      readonly plugins: readonly string[];
    };

/** How many feasible nodes are enough (KubeSchedulerConfiguration percentageOfNodesToScore, adaptive). */
function enough(nodes: number): number {
  if (nodes < leastFeasible) return nodes;
  const percentage = Math.max(50 - Math.floor(nodes / 125), leastPercentage);
  return Math.max(Math.floor((nodes * percentage) / 100), leastFeasible);
}

/**
 * Finds the best node for a pod: PreFilter, Filter, Score. Synchronous: what plugins know cannot change in between.
 * What a plugin throws is an error of the whole attempt.
 */
export class SchedulingCycle {
  readonly #plugins: readonly Plugin[];
  readonly #random: () => number;
  /** Where the last search stopped: the next one begins there, so that all nodes get their turn. */
  #start = 0;

  constructor(plugins: readonly Plugin[], random: () => number) {
    this.#plugins = plugins;
    this.#random = random;
  }

  decide(pod: Pod, nodes: readonly NodeInfo[]): Decision {
    const state: CycleState = new Map();
    const rejections = new Map<string, Rejection>();
    const refused = (upfront?: Rejection): Decision => ({
      type: "refused",
      state,
      diagnosis: { nodes: nodes.length, rejections, ...(upfront && { upfront }) },
      plugins: [...new Set([...rejections.values(), ...(upfront ? [upfront] : [])].map((r) => r.plugin))],
    });

    const skipped = new Set<string>();
    let allowed: ReadonlySet<string> | undefined;
    const narrowing: string[] = [];
    for (const plugin of this.#plugins) {
      const result = plugin.preFilter?.(state, pod, nodes);
      if (result === undefined) continue;
      if (result.type === "reject") return refused(result.rejection);
      if (result.type === "skip") skipped.add(plugin.name);
      else if (result.nodes !== undefined) {
        narrowing.push(plugin.name);
        allowed = allowed === undefined ? result.nodes : allowed.intersection(result.nodes);
      }
    }

    const filters = this.#plugins.filter(
      (plugin) => plugin.filter !== undefined && !skipped.has(plugin.name),
    );
    const feasible: NodeInfo[] = [];
    const wanted = enough(nodes.length);
    let looked = 0;
    for (; looked < nodes.length && feasible.length < wanted; looked++) {
      const node = nodes[(this.#start + looked) % nodes.length]!;
      if (allowed !== undefined && !allowed.has(node.name)) {
        const reasons = [`node(s) didn't satisfy plugin(s) [${narrowing.join(" ")}]`];
        rejections.set(node.name, { plugin: narrowing[0]!, reasons, resolvable: false });
        continue;
      }
      const rejection = firstRejection(filters, state, pod, node);
      if (rejection === undefined) feasible.push(node);
      else rejections.set(node.name, rejection);
    }
    this.#start = nodes.length === 0 ? 0 : (this.#start + looked) % nodes.length;
    if (feasible.length === 0) return refused();
    return { type: "placed", node: this.#best(state, pod, feasible), state };
  }

  #best(state: CycleState, pod: Pod, feasible: readonly NodeInfo[]): NodeInfo {
    if (feasible.length === 1) return feasible[0]!;
    const totals = new Map<string, number>();
    for (const plugin of this.#plugins) {
      if (plugin.score === undefined) continue;
      const scores = new Map(feasible.map((node) => [node.name, plugin.score!(state, pod, node)]));
      plugin.normalize?.(scores);
      for (const [node, score] of scores)
        totals.set(node, (totals.get(node) ?? 0) + score * (plugin.weight ?? 1));
    }
    const highest = Math.max(...totals.values());
    const best = feasible.filter((node) => totals.get(node.name) === highest);
    return best[Math.floor(this.#random() * best.length)] ?? best[0]!;
  }
}

function firstRejection(
  filters: readonly Plugin[],
  state: CycleState,
  pod: Pod,
  node: NodeInfo,
): Rejection | undefined {
  for (const plugin of filters) {
    const rejection = plugin.filter!(state, pod, node);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}
