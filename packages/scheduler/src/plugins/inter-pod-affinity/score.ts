/**
 * Scores of nodes by preferred affinity between pods.
 * Upstream: plugins/interpodaffinity/scoring.go
 */
import type { Pod } from "@dray/api/core/v1";
import { maxScore } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PluginArgs } from "../args.ts";
import type { PodCounter } from "../helper/pod-counter.ts";
import { type AffinityTerm, type AffinityTerms, DomainSums } from "./terms.ts";

export interface AffinityScoreInput {
  readonly pod: Pod;
  readonly nodes: readonly NodeInfo[];
  readonly args: PluginArgs["InterPodAffinity"];
  readonly termsOf: (pod: Pod) => AffinityTerms;
  readonly counter: PodCounter;
}

const gain = ({ weight }: AffinityTerm): number => weight;
const loss = ({ weight }: AffinityTerm): number => -weight;

/** Scores of topology domains for the pod, in both directions; undefined: all are equal. */
export function affinityScore(input: AffinityScoreInput): DomainSums | undefined {
  const { pod, nodes, args, termsOf } = input;
  const { preferred, preferredAnti } = termsOf(pod);
  const prefers = preferred.length > 0 || preferredAnti.length > 0;
  if (!prefers && args.ignorePreferredTermsOfExistingPods) return undefined;
  const sums = new DomainSums();
  for (const term of preferred) addOwn(sums, term, term.weight, input);
  for (const term of preferredAnti) addOwn(sums, term, -term.weight, input);
  for (const { node, podsWithAffinity } of nodes) {
    const { labels } = node.metadata;
    if (labels === undefined || podsWithAffinity.size === 0) continue;
    const add = (terms: readonly AffinityTerm[], about: Pod, worth: (term: AffinityTerm) => number): void => {
      for (const term of terms)
        if (term.matches(about)) sums.add(labels, term.topologyKey, worth(term), { keep: true });
    };
    for (const other of podsWithAffinity) {
      const theirs = termsOf(other);
      if (args.hardPodAffinityWeight > 0) add(theirs.required, pod, () => args.hardPodAffinityWeight);
      add(theirs.preferred, pod, gain);
      add(theirs.preferredAnti, pod, loss);
    }
  }
  return sums.any ? sums : undefined;
}

/** Preferred terms of this pod. */
function addOwn(
  sums: DomainSums,
  term: AffinityTerm,
  weight: number,
  { nodes, counter }: AffinityScoreInput,
): void {
  const count = counter.counting(term.key, nodes.length, (other) => term.matches(other));
  for (const info of nodes) {
    const pods = count(info);
    if (pods > 0) sums.add(info.node.metadata.labels ?? {}, term.topologyKey, pods * weight, { keep: true });
  }
}

/** From the least to the most. */
export function normalizeAffinity(scores: Map<string, number>): void {
  const all = [...scores.values()];
  const least = all.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const range = all.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY) - least;
  for (const [node, score] of scores)
    scores.set(node, range > 0 ? Math.trunc(maxScore * ((score - least) / range)) : 0);
}
