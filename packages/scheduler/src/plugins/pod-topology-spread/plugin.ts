import type { Node, Pod } from "@dray/api/core/v1";
import { differ } from "../../framework/changes.ts";
import type { ClusterEvent, CycleState, Plugin, Rejection } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { PluginArgs } from "../args.ts";
import { allNodes, keepNodes } from "../helper/all-nodes.ts";
import { PodCounter } from "../helper/pod-counter.ts";
import {
  countSelected,
  hasKeys,
  type NodeInclusion,
  nodeInclusion,
  type SpreadConstraint,
  SpreadConstraints,
  type WorkloadLookup,
} from "./constraints.ts";
import { normalizeSpread, type SpreadScore, scoreSpread, spreadScore } from "./score.ts";

const name = "PodTopologySpread";
/** Key of the data for scores in the cycle state. */
const scoreKey = `${name}/score`;
const noMatch = "node(s) didn't match pod topology spread constraints";
const skewed: Rejection = { plugin: name, reasons: [noMatch], resolvable: true };
const missingLabel: Rejection = {
  plugin: name,
  reasons: [`${noMatch} (missing required label)`],
  resolvable: false,
};

/** How many pods there are in the domains of one constraint. */
class Domains {
  readonly constraint: SpreadConstraint;
  readonly #counts: Map<string, number>;
  #least: number | undefined;

  constructor(constraint: SpreadConstraint, counts = new Map<string, number>()) {
    this.constraint = constraint;
    this.#counts = counts;
  }

  clone(): Domains {
    return new Domains(this.constraint, new Map(this.#counts));
  }

  add(domain: string, pods: number): void {
    this.#counts.set(domain, (this.#counts.get(domain) ?? 0) + pods);
    this.#least = undefined;
  }

  of(domain: string): number {
    return this.#counts.get(domain) ?? 0;
  }

  /** Least number of matching pods of any domain; 0 with fewer domains than minDomains (KEP-3022). */
  get least(): number {
    if (this.#counts.size < this.constraint.minDomains) return 0;
    if (this.#least === undefined) {
      this.#least = Number.POSITIVE_INFINITY;
      for (const count of this.#counts.values()) if (count < this.#least) this.#least = count;
    }
    return this.#least;
  }
}

class State {
  readonly domains: readonly Domains[];
  readonly constraints: readonly SpreadConstraint[];
  readonly included: NodeInclusion;
  /** For each constraint: whether the pod itself is one of those that are counted. */
  readonly selfMatch: readonly number[];

  constructor(domains: readonly Domains[], included: NodeInclusion, selfMatch: readonly number[]) {
    this.domains = domains;
    this.constraints = domains.map(({ constraint }) => constraint);
    this.included = included;
    this.selfMatch = selfMatch;
  }

  clone(): State {
    return new State(
      this.domains.map((each) => each.clone()),
      this.included,
      this.selfMatch,
    );
  }
}

/**
 * Spreads pods over the domains of a topology (KEP-895): hard constraints filter, soft ones score.
 * Upstream: plugins/podtopologyspread
 */
export function podTopologySpread(args: PluginArgs["PodTopologySpread"], workloads?: WorkloadLookup): Plugin {
  const read = new SpreadConstraints(args, workloads);
  const counter = new PodCounter();

  const change =
    (sign: 1 | -1) =>
    (state: CycleState, pod: Pod, other: Pod, { node }: NodeInfo): void => {
      const { domains, constraints, included } = state.get(name) as State;
      if (other.metadata.namespace !== pod.metadata.namespace || !hasKeys(node, constraints)) return;
      const { labels = {} } = node.metadata;
      for (const each of domains) {
        const { constraint } = each;
        if (!constraint.selector.matches(other.metadata.labels) || !included(constraint, node)) continue;
        each.add(labels[constraint.topologyKey]!, sign);
      }
    };

  return {
    name,
    dependsOnOtherNodes: true,
    preFilter(state, pod, nodes) {
      keepNodes(state, nodes);
      const constraints = read.of(pod, "DoNotSchedule");
      state.set(name, countDomains(constraints, pod, nodes, counter));
      if (constraints.length > 0) return { type: "continue" };
      // Scores look around, too.
      return { type: read.of(pod, "ScheduleAnyway").length > 0 ? "continue" : "skip" };
    },
    addPod: change(1),
    removePod: change(-1),
    filter(state, _pod, { node }) {
      const { domains, selfMatch } = state.get(name) as State;
      const { labels = {} } = node.metadata;
      for (let i = 0; i < domains.length; i++) {
        const each = domains[i]!;
        const { topologyKey, maxSkew } = each.constraint;
        if (!Object.hasOwn(labels, topologyKey)) return missingLabel;
        if (each.of(labels[topologyKey]!) + selfMatch[i]! - each.least > maxSkew) return skewed;
      }
      return undefined;
    },
    preScore(state, pod, feasible) {
      const constraints = read.of(pod, "ScheduleAnyway");
      if (constraints.length === 0) return "skip";
      const all = allNodes(state);
      const score = spreadScore({
        pod,
        constraints,
        feasible,
        all,
        allKeys: read.requiresAllKeys(pod),
        counter,
      });
      state.set(scoreKey, score);
      return undefined;
    },
    score: (state, _pod, node) => scoreSpread(state.get(scoreKey) as SpreadScore, node),
    normalize: (scores, state) => normalizeSpread(scores, state.get(scoreKey) as SpreadScore),
    mayHelp: (pod, event) => mayHelp(pod, event, read.of(pod, "DoNotSchedule")),
  };
}

/** Returns how many pods there are in the domains of all nodes that count and have all the topology keys. */
function countDomains(
  constraints: readonly SpreadConstraint[],
  pod: Pod,
  nodes: readonly NodeInfo[],
  counter: PodCounter,
): State {
  const { namespace, labels } = pod.metadata;
  const domains = constraints.map((constraint) => new Domains(constraint));
  const included = nodeInclusion(pod);
  const counts = constraints.map((each) => countSelected(counter, each, namespace, nodes.length));
  if (constraints.length > 0)
    for (const info of nodes) {
      const { node } = info;
      if (!hasKeys(node, constraints)) continue;
      const { labels: nodeLabels = {} } = node.metadata;
      domains.forEach((each, i) => {
        const { constraint } = each;
        if (included(constraint, node)) each.add(nodeLabels[constraint.topologyKey]!, counts[i]!(info));
      });
    }
  const selfMatch = constraints.map(({ selector }) => (selector.matches(labels) ? 1 : 0));
  return new State(domains, included, selfMatch);
}

function mayHelp(pod: Pod, event: ClusterEvent, constraints: readonly SpreadConstraint[]): boolean {
  switch (event.kind) {
    case "released":
      return true;
    case "own-pod": {
      const { old } = event;
      if (old === undefined) return true;
      const newTolerations = differ(old.spec.tolerations, event.pod.spec.tolerations);
      if (newTolerations && constraints.some(({ nodeTaintsPolicy }) => nodeTaintsPolicy === "Honor"))
        return true;
      return matchesOtherwise(old, event.pod, constraints);
    }
    case "assigned-pod": {
      if (event.pod.metadata.namespace !== pod.metadata.namespace) return false;
      if (event.change === "update" && event.old !== undefined)
        return matchesOtherwise(event.old, event.pod, constraints);
      return constraints.some(({ selector }) => selector.matches(event.pod.metadata.labels));
    }
    case "node": {
      if (!event.changed.has("labels") && !event.changed.has("taints")) return false;
      const counts = hasKeys(event.node, constraints);
      if (event.old === undefined) return counts;
      return (
        hasKeys(event.old, constraints) !== counts ||
        (counts && (event.changed.has("taints") || topologyDiffers(event.old, event.node, constraints)))
      );
    }
    default:
      return false;
  }
}

function matchesOtherwise(before: Pod, after: Pod, constraints: readonly SpreadConstraint[]): boolean {
  return constraints.some(
    ({ selector }) => selector.matches(before.metadata.labels) !== selector.matches(after.metadata.labels),
  );
}

function topologyDiffers(before: Node, after: Node, constraints: readonly SpreadConstraint[]): boolean {
  return constraints.some(
    ({ topologyKey }) => before.metadata.labels?.[topologyKey] !== after.metadata.labels?.[topologyKey],
  );
}
