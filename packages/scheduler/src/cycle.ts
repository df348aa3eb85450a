import type { Pod } from "@dray/api/core/v1";
import type { NodeAnswers } from "./answers.ts";
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
function adaptive(nodes: number): number {
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
  readonly #enough: (nodes: number) => number;
  /** Where the last search stopped: the next one begins there, so that all nodes get their turn. */
  #start = 0;

  /** `enough`: of so many nodes, how many feasible ones end the search. */
  constructor(plugins: readonly Plugin[], random: () => number, enough = adaptive) {
    this.#plugins = plugins;
    this.#random = random;
    this.#enough = enough;
  }

  /** `known`: what nodes have answered to pods like this one; what they answer now is put there. */
  decide(pod: Pod, nodes: readonly NodeInfo[], known?: NodeAnswers): Decision {
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
    const around = this.#plugins.some((plugin) => plugin.looksAround && !skipped.has(plugin.name));
    const answers = (around ? undefined : known) ?? new Map();
    const feasible: NodeInfo[] = [];
    const wanted = this.#enough(nodes.length);
    let looked = 0;
    for (; looked < nodes.length && feasible.length < wanted; looked++) {
      const node = nodes[(this.#start + looked) % nodes.length]!;
      if (allowed !== undefined && !allowed.has(node.name)) continue;
      let answer = answers.get(node);
      if (answer?.version !== node.version) {
        answer = { version: node.version, rejection: firstRejection(filters, state, pod, node) };
        answers.set(node, answer);
      }
      if (answer.rejection === undefined) feasible.push(node);
      else rejections.set(node.name, answer.rejection);
    }
    this.#start = nodes.length === 0 ? 0 : (this.#start + looked) % nodes.length;
    if (feasible.length === 0) {
      const reasons = [`node(s) didn't satisfy plugin(s) [${narrowing.join(" ")}]`];
      const outside = { plugin: narrowing[0]!, reasons, resolvable: false };
      for (const { name } of nodes) if (allowed?.has(name) === false) rejections.set(name, outside);
      return refused();
    }
    const node = this.#best(state, pod, feasible, answers);
    // What filters keep of a node for Reserve is kept anew for each pod.
    if (known !== undefined) firstRejection(filters, state, pod, node);
    return { type: "placed", node, state };
  }

  #best(state: CycleState, pod: Pod, feasible: readonly NodeInfo[], answers: NodeAnswers): NodeInfo {
    if (feasible.length === 1) return feasible[0]!;
    const scoring = this.#plugins.filter((plugin) => plugin.score !== undefined);
    const scores = feasible.map((node) => {
      const answer = answers.get(node)!;
      answer.scores ??= scoring.map((plugin) => plugin.score!(state, pod, node));
      return answer.scores;
    });
    const totals = feasible.map(() => 0);
    scoring.forEach(({ normalize, weight = 1 }, p) => {
      const first = scores[0]![p];
      // Scores that are all equal decide nothing.
      if (scores.every((each) => each[p] === first)) return;
      let comparable: Iterable<number> = scores.map((each) => each[p]!);
      if (normalize !== undefined) {
        const byNode = new Map(feasible.map(({ name }, i) => [name, scores[i]![p]!]));
        normalize(byNode);
        comparable = byNode.values();
      }
      let i = 0;
      for (const score of comparable) totals[i++]! += score * weight;
    });
    const highest = totals.reduce((a, b) => Math.max(a, b));
    const best = feasible.filter((_, i) => totals[i] === highest);
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
