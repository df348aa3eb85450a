/**
 * Scores of nodes by soft topology spread constraints.
 * Upstream: plugins/podtopologyspread/scoring.go
 */
import type { Pod } from "@dray/api/core/v1";
import { maxScore } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { CountPods, PodCounter } from "../helper/pod-counter.ts";
import {
  countSelected,
  hasKeys,
  hostnameLabel,
  nodeInclusion,
  type SpreadConstraint,
} from "./constraints.ts";

export interface SpreadScore {
  readonly constraints: readonly SpreadConstraint[];
  /** Nodes that lack a topology key: they get no score. */
  readonly ignored: ReadonlySet<string>;
  /**
   * For each constraint the pods in the domains of nodes that may do; those of hosts are counted when they
   * are scored.
   */
  readonly counts: readonly ReadonlyMap<string, number>[];
  /** For each constraint the pods of a node. */
  readonly onNode: readonly CountPods[];
  /** A constraint with more domains has fewer pods in each of them, and counts more for it. */
  readonly weights: readonly number[];
}

export interface SpreadInput {
  readonly pod: Pod;
  readonly constraints: readonly SpreadConstraint[];
  readonly feasible: readonly NodeInfo[];
  readonly all: readonly NodeInfo[];
  readonly allKeys: boolean;
  readonly counter: PodCounter;
}

export function spreadScore(input: SpreadInput): SpreadScore {
  const { pod, constraints, feasible, all, allKeys, counter } = input;
  const ignored = new Set<string>();
  const counts = constraints.map(() => new Map<string, number>());
  for (const { name, node } of feasible) {
    if (allKeys && !hasKeys(node, constraints)) {
      ignored.add(name);
      continue;
    }
    constraints.forEach(({ topologyKey }, i) => {
      // A node without the key is of the domain "", as upstream reads it.
      if (topologyKey !== hostnameLabel) counts[i]!.set(node.metadata.labels?.[topologyKey] ?? "", 0);
    });
  }
  const weights = constraints.map(({ topologyKey }, i) =>
    Math.log((topologyKey === hostnameLabel ? feasible.length - ignored.size : counts[i]!.size) + 2),
  );
  const { namespace } = pod.metadata;
  const onNode = constraints.map((each) => countSelected(counter, each, namespace, all.length));
  if (counts.some(({ size }) => size > 0)) countDomains(counts, onNode, input);
  return { constraints, ignored, counts, onNode, weights };
}

function countDomains(
  counts: readonly Map<string, number>[],
  onNode: readonly CountPods[],
  { pod, constraints, all, allKeys }: SpreadInput,
): void {
  const included = nodeInclusion(pod);
  for (const info of all) {
    const { node } = info;
    if (allKeys && !hasKeys(node, constraints)) continue;
    for (let i = 0; i < constraints.length; i++) {
      const constraint = constraints[i]!;
      const domain = node.metadata.labels?.[constraint.topologyKey];
      // Nodes without the key have no score for it: their pods are not counted.
      const before = domain === undefined ? undefined : counts[i]!.get(domain);
      if (domain === undefined || before === undefined || !included(constraint, node)) continue;
      counts[i]!.set(domain, before + onNode[i]!(info));
    }
  }
}

/** The pods in the node's domains: the fewer the better. */
export function scoreSpread(score: SpreadScore, info: NodeInfo): number {
  const { constraints, ignored, counts, onNode, weights } = score;
  const { name, node } = info;
  if (ignored.has(name)) return 0;
  const { labels = {} } = node.metadata;
  let sum = 0;
  for (let i = 0; i < constraints.length; i++) {
    const { topologyKey, maxSkew } = constraints[i]!;
    if (!Object.hasOwn(labels, topologyKey)) continue;
    const count =
      topologyKey === hostnameLabel ? onNode[i]!(info) : (counts[i]!.get(labels[topologyKey]!) ?? 0);
    // With a large skew small differences do not count.
    sum += count * weights[i]! + (maxSkew - 1);
  }
  return Math.round(sum);
}

export function normalizeSpread(scores: Map<string, number>, { ignored }: SpreadScore): void {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const [node, score] of scores) {
    if (ignored.has(node)) continue;
    least = Math.min(least, score);
    most = Math.max(most, score);
  }
  for (const [node, score] of scores) {
    if (ignored.has(node)) scores.set(node, 0);
    else scores.set(node, most === 0 ? maxScore : Math.trunc((maxScore * (most + least - score)) / most));
  }
}
