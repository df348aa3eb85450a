import type { Node, Pod } from "@dray/api/core/v1";
import type { ClusterEvent, Plugin, Rejection } from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";
import type { PluginArgs } from "../plugin-args.ts";
import { allNodes, keepNodes } from "./all-nodes.ts";
import { affinityScore, normalizeAffinity } from "./pod-affinity-score.ts";
import {
  type AffinityTerm,
  type AffinityTerms,
  affinityTerms,
  DomainSums,
  matchesAll,
  type NamespaceLabels,
} from "./pod-affinity-terms.ts";

const name = "InterPodAffinity";
/** Where the state keeps what scores go by. */
const scoreKey = `${name}/score`;
const none: Readonly<Record<string, string>> = {};

/** How many pods there are in domains: that must be near, must not be near, and do not want the pod near. */
class State {
  readonly terms: AffinityTerms;
  readonly attracting: DomainSums;
  readonly avoided: DomainSums;
  readonly guarded: DomainSums;

  constructor(terms: AffinityTerms, [attracting, avoided, guarded]: readonly DomainSums[] = []) {
    this.terms = terms;
    this.attracting = attracting ?? new DomainSums();
    this.avoided = avoided ?? new DomainSums();
    this.guarded = guarded ?? new DomainSums();
  }

  clone(): State {
    return new State(
      this.terms,
      [this.attracting, this.avoided, this.guarded].map((sums) => sums.clone()),
    );
  }

  /** Counts a pod on a node; `others` are its own terms against pods. */
  count(pod: Pod, other: Pod, others: readonly AffinityTerm[], { metadata }: Node, sign: 1 | -1): void {
    const { labels = none } = metadata;
    const { required, requiredAnti } = this.terms;
    for (const term of others) if (term.matches(pod)) this.guarded.add(labels, term.topologyKey, sign);
    // A pod attracts only where all of the terms match it.
    if (matchesAll(required, other))
      for (const { topologyKey } of required) this.attracting.add(labels, topologyKey, sign);
    for (const term of requiredAnti)
      if (term.matches(other)) this.avoided.add(labels, term.topologyKey, sign);
  }
}

/**
 * Affinity and anti-affinity between pods (core/v1 PodAffinity), in both directions: required terms filter, preferred
 * ones score.
 *
 * Upstream: plugins/interpodaffinity
 */
export function interPodAffinity(args: PluginArgs["InterPodAffinity"], labelsOf: NamespaceLabels): Plugin {
  const termsOf = affinityTerms(labelsOf);

  function stateOf(pod: Pod, nodes: readonly NodeInfo[]): State {
    const terms = termsOf(pod);
    const state = new State(terms);
    const indifferent = terms.required.length === 0 && terms.requiredAnti.length === 0;
    for (const { node, pods, guarding } of nodes)
      for (const other of indifferent ? guarding : pods.values())
        state.count(pod, other, termsOf(other).requiredAnti, node, 1);
    return state;
  }

  /** Whether anything is said about pods near each other, so that scores depend on other nodes. */
  function anyPreference(pod: Pod, nodes: readonly NodeInfo[]): boolean {
    const { preferred, preferredAnti } = termsOf(pod);
    if (preferred.length > 0 || preferredAnti.length > 0) return true;
    return !args.ignorePreferredTermsOfExistingPods && nodes.some((node) => node.podsWithAffinity.size > 0);
  }

  return {
    name,
    looksAround: true,
    weight: 2,
    preFilter(state, pod, nodes) {
      keepNodes(state, nodes);
      const found = stateOf(pod, nodes);
      state.set(name, found);
      const { required, requiredAnti } = found.terms;
      const filters = required.length > 0 || requiredAnti.length > 0 || found.guarded.any;
      return { type: filters || anyPreference(pod, nodes) ? "continue" : "skip" };
    },
    addPod: (state, pod, added, { node }) =>
      (state.get(name) as State).count(pod, added, termsOf(added).requiredAnti, node, 1),
    removePod: (state, pod, removed, { node }) =>
      (state.get(name) as State).count(pod, removed, termsOf(removed).requiredAnti, node, -1),
    filter(state, pod, { node }) {
      const { terms, attracting, avoided, guarded } = state.get(name) as State;
      const labels = node.metadata.labels ?? none;
      if (!isAttracted(terms.required, attracting, pod, labels))
        return reject("node(s) didn't match pod affinity rules", false);
      if (terms.requiredAnti.some(({ topologyKey }) => avoided.of(labels, topologyKey) > 0))
        return reject("node(s) didn't match pod anti-affinity rules", true);
      if (guarded.anyOf(labels))
        return reject("node(s) didn't satisfy existing pods anti-affinity rules", true);
      return undefined;
    },
    preScore(state, pod) {
      const sums = affinityScore({ pod, nodes: allNodes(state), args, termsOf });
      if (sums === undefined) return "skip";
      state.set(scoreKey, sums);
      return undefined;
    },
    score: (state, _pod, { node }) => (state.get(scoreKey) as DomainSums).total(node.metadata.labels ?? none),
    normalize: normalizeAffinity,
    mayHelp: (pod, event) => mayHelp(pod, event, termsOf),
  };
}

function isAttracted(
  terms: readonly AffinityTerm[],
  attracting: DomainSums,
  pod: Pod,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (!terms.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey))) return false;
  if (terms.every(({ topologyKey }) => attracting.of(labels, topologyKey) > 0)) return true;
  // The first pod of a group that wants its own kind may go anywhere that has the topology.
  return !attracting.any && matchesAll(terms, pod);
}

function mayHelp(pod: Pod, event: ClusterEvent, termsOf: (pod: Pod) => AffinityTerms): boolean {
  const { required, requiredAnti } = termsOf(pod);
  const avoids = (other: Pod): boolean => requiredAnti.some((term) => term.matches(other));
  switch (event.kind) {
    case "released":
    case "own-pod":
      return true;
    case "assigned-pod": {
      const { pod: other, old, change } = event;
      if (change === "add") return matchesAll(required, other);
      if (change === "delete")
        return avoids(other) || termsOf(other).requiredAnti.some((term) => term.matches(pod));
      if (old === undefined) return true;
      return (!matchesAll(required, old) && matchesAll(required, other)) || (avoids(old) && !avoids(other));
    }
    case "node":
      return event.change !== "delete" && nodeMayHelp(event.node, event.old, { required, requiredAnti });
    default:
      return false;
  }
}

/** A node has come, or has moved to another domain. */
function nodeMayHelp(
  node: Node,
  old: Node | undefined,
  { required, requiredAnti }: Pick<AffinityTerms, "required" | "requiredAnti">,
): boolean {
  const value = ({ metadata }: Node, key: string): string | undefined =>
    Object.hasOwn(metadata.labels ?? none, key) ? metadata.labels?.[key] : undefined;
  if (old === undefined)
    return requiredAnti.length > 0 || required.some((term) => value(node, term.topologyKey) !== undefined);
  const differs = ({ topologyKey }: AffinityTerm): boolean =>
    value(node, topologyKey) !== value(old, topologyKey);
  return (
    required.some((term) => differs(term) && value(node, term.topologyKey) !== undefined) ||
    // A node without the key takes pods with anti-affinity.
    requiredAnti.some((term) => differs(term) && value(old, term.topologyKey) !== undefined)
  );
}

function reject(reason: string, resolvable: boolean): Rejection {
  return { plugin: name, reasons: [reason], resolvable };
}
