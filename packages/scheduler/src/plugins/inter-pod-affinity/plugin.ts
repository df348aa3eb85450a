import type { Node, Pod } from "@dray/api/core/v1";
import type { ClusterEvent, CycleState, Plugin, Rejection } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PluginArgs } from "../args.ts";
import { allNodes, keepNodes } from "../helper/all-nodes.ts";
import { PodCounter } from "../helper/pod-counter.ts";
import { affinityScore, normalizeAffinity } from "./score.ts";
import {
  type AffinityTerm,
  type AffinityTerms,
  affinityTerms,
  DomainSums,
  matchesAll,
  type NamespaceLabels,
} from "./terms.ts";

const name = "InterPodAffinity";
/** Key of the data for scores in the cycle state. */
const scoreKey = `${name}/score`;
const reject = (reason: string, resolvable: boolean): Rejection => ({
  plugin: name,
  reasons: [reason],
  resolvable,
});
const notNear = reject("node(s) didn't match pod affinity rules", false);
const notFar = reject("node(s) didn't match pod anti-affinity rules", true);
const unwanted = reject("node(s) didn't satisfy existing pods anti-affinity rules", true);
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

  /** Counts the pods on a node that match all terms. */
  attract({ metadata }: Node, pods: number): void {
    for (const { topologyKey } of this.terms.required)
      this.attracting.add(metadata.labels ?? none, topologyKey, pods);
  }

  /** Counts a pod on a node that may keep this one away. */
  guard(pod: Pod, theirs: readonly AffinityTerm[], { metadata }: Node, sign: 1 | -1): void {
    for (const term of theirs)
      if (term.matches(pod)) this.guarded.add(metadata.labels ?? none, term.topologyKey, sign);
  }
}

/**
 * Affinity and anti-affinity between pods (core/v1 PodAffinity), in both directions: required terms filter,
 * preferred ones score.
 *
 * Upstream: plugins/interpodaffinity
 */
export function interPodAffinity(args: PluginArgs["InterPodAffinity"], labelsOf: NamespaceLabels): Plugin {
  const termsOf = affinityTerms(labelsOf);
  const counter = new PodCounter();

  function stateOf(pod: Pod, nodes: readonly NodeInfo[]): State {
    const terms = termsOf(pod);
    const { required, requiredAnti } = terms;
    const state = new State(terms);
    for (const { node, guarding } of nodes)
      for (const other of guarding) state.guard(pod, termsOf(other).requiredAnti, node, 1);
    if (required.length > 0) {
      const attracting = counter.counting(keyOf(required), nodes.length, (other) =>
        matchesAll(required, other),
      );
      for (const info of nodes) state.attract(info.node, attracting(info));
    }
    for (const term of requiredAnti) {
      const avoided = counter.counting(term.key, nodes.length, (other) => term.matches(other));
      for (const info of nodes) {
        const { labels = none } = info.node.metadata;
        state.avoided.add(labels, term.topologyKey, avoided(info));
      }
    }
    return state;
  }

  /** A trial of preemption has put another pod on the node, or taken it away. */
  const change =
    (sign: 1 | -1) =>
    (cycle: CycleState, pod: Pod, other: Pod, { node }: NodeInfo): void => {
      const state = cycle.get(name) as State;
      const { required, requiredAnti } = state.terms;
      state.guard(pod, termsOf(other).requiredAnti, node, sign);
      if (matchesAll(required, other)) state.attract(node, sign);
      for (const term of requiredAnti)
        if (term.matches(other)) state.avoided.add(node.metadata.labels ?? none, term.topologyKey, sign);
    };

  /** Reports whether anything is said about pods near each other, so that scores depend on other nodes. */
  function anyPreference(pod: Pod, nodes: readonly NodeInfo[]): boolean {
    const { preferred, preferredAnti } = termsOf(pod);
    if (preferred.length > 0 || preferredAnti.length > 0) return true;
    return !args.ignorePreferredTermsOfExistingPods && nodes.some((node) => node.podsWithAffinity.size > 0);
  }

  return {
    name,
    dependsOnOtherNodes: true,
    preFilter(state, pod, nodes) {
      const { problem } = termsOf(pod);
      if (problem !== undefined) {
        const reasons = [`parsing pod: ${problem}`];
        return { type: "reject", rejection: { plugin: name, reasons, resolvable: false } };
      }
      keepNodes(state, nodes);
      const found = stateOf(pod, nodes);
      state.set(name, found);
      const { required, requiredAnti } = found.terms;
      const filters = required.length > 0 || requiredAnti.length > 0 || found.guarded.any;
      return { type: filters || anyPreference(pod, nodes) ? "continue" : "skip" };
    },
    addPod: change(1),
    removePod: change(-1),
    filter(state, pod, { node }) {
      const { terms, attracting, avoided, guarded } = state.get(name) as State;
      const labels = node.metadata.labels ?? none;
      if (!isAttracted(terms.required, attracting, pod, labels)) return notNear;
      if (terms.requiredAnti.some(({ topologyKey }) => avoided.of(labels, topologyKey) > 0)) return notFar;
      if (guarded.anyOf(labels)) return unwanted;
      return undefined;
    },
    preScore(state, pod) {
      const sums = affinityScore({ pod, nodes: allNodes(state), args, termsOf, counter });
      if (sums === undefined) return "skip";
      state.set(scoreKey, sums);
      return undefined;
    },
    score: (state, _pod, { node }) => (state.get(scoreKey) as DomainSums).total(node.metadata.labels ?? none),
    normalize: normalizeAffinity,
    mayHelp: (pod, event) => mayHelp(pod, event, termsOf),
  };
}

/** Undefined where one of the terms has none. */
function keyOf(terms: readonly AffinityTerm[]): string | undefined {
  const keys = terms.map(({ key }) => key);
  return keys.includes(undefined) ? undefined : keys.join(" & ");
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
      return (
        event.change !== "delete" &&
        event.changed.has("labels") &&
        nodeMayHelp(event.node, event.old, { required, requiredAnti })
      );
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
