import type { Pod } from "@dray/api/core/v1";
import type { Diagnosis } from "../framework/diagnosis.ts";
import type { ExtensionPoints } from "../framework/extension-points.ts";
import { type CycleState, cloneState, type Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { priorityOf } from "../framework/priority.ts";
import { type ExtensionPoint, SchedulerMetrics, type Status } from "../metrics/scheduler-metrics.ts";
import { feasibleNodesToFind } from "./feasible-nodes.ts";
import type { NodeResults } from "./node-results.ts";
import { runPreFilter, skippedFilters, statusOf } from "./pre-filter.ts";
import { UnreadableNodes } from "./unreadable-nodes.ts";

/** Every n-th search measures the time of each plugin. */
const sampleInterval = 10;

export type Decision =
  | { readonly type: "placed"; readonly node: NodeInfo; readonly state: CycleState }
  | {
      readonly type: "refused";
      readonly state: CycleState;
      readonly diagnosis: Diagnosis;
      /** All that were there. */
      readonly nodes: readonly NodeInfo[];
      /** Plugins whose rejections keep the pod waiting. */
      readonly plugins: readonly string[];
    };

export interface CycleOptions {
  /** Between 0 and 1: breaks ties between equally good nodes. */
  readonly random: () => number;
  /** Number of feasible nodes that ends a search over `nodes`; `feasibleNodesToFind(0)` if absent. */
  readonly enough?: (nodes: number) => number;
  /** Extenders score, too: without scores of plugins more than one node is needed all the same. */
  readonly extended?: boolean;
  /** The pods that will run on the node and are not there yet; none if absent. */
  readonly nominated?: (node: string) => readonly Pod[];
  /** The node that the pod is nominated to; that of its status if absent. */
  readonly nomination?: (pod: Pod) => string | undefined;
  /** Where it is counted, with the name of the profile. */
  readonly metrics?: SchedulerMetrics;
  readonly profile?: string;
  /** Called when a node is left out because a plugin throws for it. */
  readonly leftOut?: (node: NodeInfo, error: Error) => void;
}

/** The nodes that passed PreFilter and Filter. */
export interface Search {
  readonly state: CycleState;
  readonly feasible: readonly NodeInfo[];
  readonly diagnosis: Diagnosis;
  readonly plugins: readonly string[];
  readonly results: NodeResults;
}

interface SearchOptions {
  /** Results of nodes for equivalent pods; new results are added. */
  readonly known?: NodeResults | undefined;
  /** Names of the only nodes that are asked. */
  readonly among?: ReadonlySet<string>;
  /** The state with which plugins begin. */
  readonly state?: CycleState;
}

/** A search after PreFilter. */
interface Filtering {
  readonly state: CycleState;
  readonly pod: Pod;
  readonly results: NodeResults;
  readonly rejections: Map<string, Rejection>;
}

/**
 * Finds the best node for a pod: PreFilter, Filter, Score. Synchronous: what plugins know cannot change in
 * between. An error that a plugin raises fails the whole attempt; a node with an object that a plugin cannot
 * read is left out.
 */
export class SchedulingCycle {
  readonly #points: ExtensionPoints;
  readonly #random: () => number;
  readonly #enough: (nodes: number) => number;
  readonly #nominated: (node: string) => readonly Pod[];
  readonly #nomination: (pod: Pod) => string | undefined;
  readonly #metrics: SchedulerMetrics;
  readonly #profile: string;
  readonly #unreadable: UnreadableNodes;
  /** How many nodes each filter has seen in this search. */
  readonly #evaluations: number[];
  /** Index at which the last search stopped: the next one begins there, so that all nodes are considered. */
  #start = 0;
  /**
   * Number of searches: results of plugins from another search are not in the state of this one. The time of
   * each plugin is measured in some of them only.
   */
  #searches = 0;

  constructor(points: ExtensionPoints, options: CycleOptions) {
    this.#points = points;
    this.#random = options.random;
    const anyWillDo = points.score.length === 0 && options.extended !== true;
    this.#enough = anyWillDo ? () => 1 : (options.enough ?? feasibleNodesToFind(0));
    this.#metrics = options.metrics ?? new SchedulerMetrics();
    this.#profile = options.profile ?? "";
    this.#evaluations = points.filter.map(() => 0);
    this.#nominated = options.nominated ?? (() => []);
    this.#nomination = options.nomination ?? ((pod) => pod.status?.nominatedNodeName);
    this.#unreadable = new UnreadableNodes({
      points,
      filter: (state, pod, node) => this.firstRejection(state, pod, node),
      report: options.leftOut ?? (() => {}),
    });
  }

  /** `known`: results of nodes for equivalent pods; new results are added. */
  decide(
    pod: Pod,
    nodes: readonly NodeInfo[],
    known?: NodeResults,
    initial: CycleState = new Map(),
  ): Decision {
    const search = this.search(pod, nodes, { known, state: initial });
    const { state, results } = search;
    if (search.feasible.length === 0) return refused(search, nodes);
    let node: NodeInfo;
    try {
      node = this.best(pod, search);
    } catch (error) {
      if (!this.#unreadable.find(pod, search.feasible, error)) throw error;
      return this.decide(pod, nodes, known, initial);
    }
    // Filters keep data of a node for Reserve in the state of each pod.
    if (results.get(node)?.search !== this.#searches && this.firstRejection(state, pod, node) !== undefined)
      return this.decide(pod, nodes);
    return { type: "placed", node, state };
  }

  search(pod: Pod, nodes: readonly NodeInfo[], options: SearchOptions = {}): Search {
    const { readable, rejections } = this.#unreadable.sift(pod, nodes);
    try {
      const search = this.#search(pod, readable, options);
      return rejections.size === 0 ? search : withRejections(search, rejections);
    } catch (error) {
      if (!this.#unreadable.find(pod, readable, error)) throw error;
      return this.search(pod, nodes, options);
    }
  }

  #search(pod: Pod, nodes: readonly NodeInfo[], { known, among, state = new Map() }: SearchOptions): Search {
    this.#searches++;
    const rejections = new Map<string, Rejection>();
    const found = (feasible: readonly NodeInfo[], results: NodeResults, upfront?: Rejection): Search => ({
      state,
      feasible,
      results,
      diagnosis: { nodes: nodes.length, rejections, ...(upfront && { upfront }) },
      plugins: [...new Set([...rejections.values(), ...(upfront ? [upfront] : [])].map((r) => r.plugin))],
    });
    const since = this.#metrics.now();
    const { upfront, allowed, narrowing, first } = runPreFilter(
      this.#points.preFilter,
      { metrics: this.#metrics, profile: this.#profile, sampled: this.#sampled },
      { state, pod, nodes },
    );
    this.#observe("PreFilter", statusOf(upfront), since);
    if (upfront !== undefined) return found([], new Map(), upfront);

    const skipped = skippedFilters(state);
    const around = this.#points.all.some((plugin) => plugin.dependsOnOtherNodes && !skipped.has(plugin.name));
    const results: NodeResults = (around ? undefined : known) ?? new Map();
    const filtering = { state, pod, results, rejections };
    const nominee = among ? undefined : this.#nominatedNode(filtering, nodes, allowed);
    if (nominee !== undefined) return found([nominee], results);
    const limited = among !== undefined || allowed !== undefined;
    const considered = limited
      ? nodes.filter(({ name }) => (among?.has(name) ?? true) && (allowed?.has(name) ?? true))
      : nodes;
    const filteringSince = this.#metrics.now();
    const ask = (some: readonly NodeInfo[]): readonly NodeInfo[] => this.#feasible(filtering, some);
    let feasible: readonly NodeInfo[] = [];
    if (first !== undefined) {
      const start = this.#start;
      feasible = ask(considered.filter(({ name }) => first.has(name)));
      this.#start = start; // The next pod goes on where the last one that may go anywhere has stopped.
    }
    if (feasible.length === 0) feasible = ask(considered.filter(({ name }) => !first?.has(name)));
    this.#observe("Filter", "Success", filteringSince);
    this.#countEvaluations();
    if (feasible.length === 0 && allowed !== undefined) {
      const reasons = [`node(s) didn't satisfy plugin(s) [${narrowing.join(" ")}]`];
      const outside = { plugin: narrowing[0]!, reasons, resolvable: false };
      for (const { name } of nodes) if (!allowed.has(name)) rejections.set(name, outside);
    }
    return found(feasible, results);
  }

  /**
   * The node for which others were preempted is most likely the only one that fits: it is asked first, alone.
   */
  #nominatedNode(
    { state, pod, results }: Filtering,
    nodes: readonly NodeInfo[],
    allowed: ReadonlySet<string> | undefined,
  ): NodeInfo | undefined {
    const name = this.#nomination(pod);
    if (!name || allowed?.has(name) === false) return undefined;
    const node = nodes.find((each) => each.name === name);
    if (node === undefined || this.#result(state, pod, node, results) !== undefined) return undefined;
    return node;
  }

  #feasible({ state, pod, results, rejections }: Filtering, nodes: readonly NodeInfo[]): readonly NodeInfo[] {
    const feasible: NodeInfo[] = [];
    const wanted = this.#enough(nodes.length);
    let looked = 0;
    for (; looked < nodes.length && feasible.length < wanted; looked++) {
      const node = nodes[(this.#start + looked) % nodes.length]!;
      const rejection = this.#result(state, pod, node, results);
      if (rejection === undefined) feasible.push(node);
      else rejections.set(node.name, rejection);
    }
    this.#start = nodes.length === 0 ? 0 : (this.#start + looked) % nodes.length;
    return feasible;
  }

  #result(state: CycleState, pod: Pod, node: NodeInfo, results: NodeResults): Rejection | undefined {
    const known = results.get(node);
    if (known?.version === node.version) return known.rejection;
    const rejection = this.firstRejection(state, pod, node);
    if (!rejection?.transient)
      results.set(node, { version: node.version, rejection, search: this.#searches });
    return rejection;
  }

  /**
   * Returns why the node does not take the pod, with or without the pods of at least its priority that are
   * nominated to it: anti-affinity may depend on them, and so may affinity.
   * Upstream: pkg/scheduler/framework/runtime/framework.go, RunFilterPluginsWithNominatedPods.
   */
  firstRejection(state: CycleState, pod: Pod, node: NodeInfo): Rejection | undefined {
    const nominated = this.#nominated(node.name).filter(
      (other) =>
        other.metadata.uid !== pod.metadata.uid &&
        priorityOf(other) >= priorityOf(pod) &&
        !node.pods.has(other.metadata.uid),
    );
    if (nominated.length > 0) {
      const trial = cloneState(state);
      try {
        for (const other of nominated) this.addPod(trial, pod, other, node);
        const rejection = this.#filter(trial, pod, node);
        if (rejection !== undefined) return rejection;
      } finally {
        for (const { metadata } of nominated) node.remove(metadata.uid);
      }
    }
    return this.#filter(state, pod, node);
  }

  /** Puts another pod on the node, for a trial. */
  addPod(state: CycleState, pod: Pod, added: Pod, node: NodeInfo): void {
    node.add(added);
    this.countPod(state, pod, added, node);
  }

  /** Takes a pod from the node, for a trial. */
  removePod(state: CycleState, pod: Pod, removed: Pod, node: NodeInfo): void {
    node.remove(removed.metadata.uid);
    this.discountPod(state, pod, removed, node);
  }

  /** As if the other pod were on the node, for what plugins have counted in PreFilter. */
  countPod(state: CycleState, pod: Pod, added: Pod, node: NodeInfo): void {
    const skipped = skippedFilters(state);
    for (const plugin of this.#points.preFilter)
      if (!skipped.has(plugin.name)) plugin.addPod?.(state, pod, added, node);
  }

  /** As if the pod were not on the node. */
  discountPod(state: CycleState, pod: Pod, removed: Pod, node: NodeInfo): void {
    const skipped = skippedFilters(state);
    for (const plugin of this.#points.preFilter)
      if (!skipped.has(plugin.name)) plugin.removePod?.(state, pod, removed, node);
  }

  #filter(state: CycleState, pod: Pod, node: NodeInfo): Rejection | undefined {
    const skipped = skippedFilters(state);
    const sampled = this.#sampled;
    const filters = this.#points.filter;
    for (let i = 0; i < filters.length; i++) {
      const plugin = filters[i]!;
      if (skipped.has(plugin.name)) continue;
      this.#evaluations[i]!++;
      const since = sampled ? this.#metrics.now() : 0;
      const rejection = plugin.filter(state, pod, node);
      if (sampled) this.#metrics.plugin("Filter", plugin.name, statusOf(rejection), since);
      if (rejection !== undefined) return rejection;
    }
    return undefined;
  }

  get #sampled(): boolean {
    return this.#searches % sampleInterval === 1;
  }

  #observe(point: ExtensionPoint, status: Status, since: number): void {
    this.#metrics.point(point, this.#profile, status, since);
  }

  #countEvaluations(): void {
    this.#points.filter.forEach(({ name }, i) => {
      const nodes = this.#evaluations[i]!;
      if (nodes > 0) this.#metrics.evaluated("Filter", name, this.#profile, nodes);
      this.#evaluations[i] = 0;
    });
  }

  /** The plugins to which all nodes are the same. */
  #preScore(state: CycleState, pod: Pod, feasible: readonly NodeInfo[]): Set<string> {
    const skipped = new Set<string>();
    const begun = this.#metrics.now();
    for (const plugin of this.#points.preScore) {
      const since = this.#metrics.now();
      const skips = plugin.preScore(state, pod, feasible) === "skip";
      if (skips) skipped.add(plugin.name);
      this.#metrics.evaluated("PreScore", plugin.name, this.#profile);
      if (this.#sampled) this.#metrics.plugin("PreScore", plugin.name, skips ? "Skip" : "Success", since);
    }
    this.#observe("PreScore", "Success", begun);
    return skipped;
  }

  /** `extra`: scores of others than plugins, by node. */
  best(pod: Pod, { state, feasible, results }: Search, extra?: ReadonlyMap<string, number>): NodeInfo {
    if (feasible.length === 1) return feasible[0]!;
    const skipped = this.#preScore(state, pod, feasible);
    const since = this.#metrics.now();
    const totals = feasible.map(({ name }) => extra?.get(name) ?? 0);
    const scorers = this.#points.score;
    const around = scorers.some(({ plugin }) => plugin.dependsOnOtherNodes && !skipped.has(plugin.name));
    const scores = feasible.map((node) => {
      // The search has stored the result of each node that it found feasible.
      const result = results.get(node)!;
      if (result.scores !== undefined && !around) return result.scores;
      if (result.search !== this.#searches) this.firstRejection(state, pod, node);
      result.scores = scorers.map(({ plugin }) =>
        skipped.has(plugin.name) ? 0 : plugin.score(state, pod, node),
      );
      return result.scores;
    });
    scorers.forEach(({ plugin, weight }, p) => {
      this.#metrics.evaluated("Score", plugin.name, this.#profile, feasible.length);
      const first = scores[0]![p];
      // Scores that are all equal decide nothing.
      if (scores.every((each) => each[p] === first)) return;
      let comparable: Iterable<number> = scores.map((each) => each[p]!);
      if (plugin.normalize !== undefined) {
        const byNode = new Map(feasible.map(({ name }, i) => [name, scores[i]![p]!]));
        plugin.normalize(byNode, state, pod);
        comparable = byNode.values();
      }
      let i = 0;
      for (const score of comparable) totals[i++]! += score * weight;
    });
    this.#observe("Score", "Success", since);
    const highest = totals.reduce((a, b) => Math.max(a, b));
    const best = feasible.filter((_, i) => totals[i] === highest);
    return best[Math.floor(this.#random() * best.length)] ?? best[0]!;
  }
}

/** Counts nodes that were left out. */
function withRejections(search: Search, rejections: ReadonlyMap<string, Rejection>): Search {
  const { diagnosis, plugins } = search;
  return {
    ...search,
    diagnosis: {
      ...diagnosis,
      nodes: diagnosis.nodes + rejections.size,
      rejections: new Map([...diagnosis.rejections, ...rejections]),
    },
    plugins: [...new Set([...plugins, ...[...rejections.values()].map(({ plugin }) => plugin)])],
  };
}

/** No node takes the pod. */
export function refused(
  { state, diagnosis, plugins }: Search,
  nodes: readonly NodeInfo[],
): Decision & { type: "refused" } {
  return { type: "refused", state, diagnosis, nodes, plugins };
}
