/**
 * The topology spread constraints of pods, as read from the spec or by default.
 * Upstream: plugins/podtopologyspread/common.go; plugins/helper/spread.go
 */
import {
  controllerOf,
  type LabelSelection,
  labelSelectorOf,
  matchLabels,
  type NodeTest,
  readNodeAffinity,
  selectionOf,
  untolerated,
} from "@dray/api";
import type { ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import type { Node, Pod, ReplicationController, Service, TopologySpreadConstraint } from "@dray/api/core/v1";
import type { PluginArgs } from "../args.ts";
import type { CountPods, PodCounter } from "../helper/pod-counter.ts";

export const hostnameLabel = "kubernetes.io/hostname";

/** Whether nodes that the pod cannot use count as domains. */
type InclusionPolicy = "Honor" | "Ignore";

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: LabelSelection;
  readonly minDomains: number;
  readonly nodeAffinityPolicy: InclusionPolicy;
  readonly nodeTaintsPolicy: InclusionPolicy;
}

/** Objects that select related pods, for pods without constraints of their own. */
export interface WorkloadLookup {
  services(namespace: string): readonly Service[];
  replicationController(namespace: string, name: string): ReplicationController | undefined;
  replicaSet(namespace: string, name: string): ReplicaSet | undefined;
  statefulSet(namespace: string, name: string): StatefulSet | undefined;
}

/** Kubernetes' own, where the arguments give none. */
const systemConstraints: readonly TopologySpreadConstraint[] = [
  { topologyKey: hostnameLabel, whenUnsatisfiable: "ScheduleAnyway", maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway", maxSkew: 5 },
];

export type SpreadAction = "DoNotSchedule" | "ScheduleAnyway";

export class SpreadConstraints {
  readonly #defaults: readonly TopologySpreadConstraint[];
  readonly #system: boolean;
  readonly #workloads: WorkloadLookup | undefined;

  constructor(args: PluginArgs["PodTopologySpread"], workloads: WorkloadLookup | undefined) {
    this.#system = args.defaultingType === "System";
    this.#defaults = this.#system ? systemConstraints : args.defaultConstraints;
    this.#workloads = workloads;
  }

  of(pod: Pod, action: SpreadAction): readonly SpreadConstraint[] {
    const own = pod.spec.topologySpreadConstraints ?? [];
    if (own.length > 0) return read(own, pod, action);
    const defaults = this.#defaults.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action);
    if (defaults.length === 0 || this.#workloads === undefined) return [];
    const selector = workloadSelector(pod, this.#workloads);
    if (selector.empty) return [];
    return read(defaults, pod, action).map((constraint) => ({ ...constraint, selector }));
  }

  /**
   * Reports whether a node without one of the topology keys gets no score; with Kubernetes' own constraints
   * it does.
   */
  requiresAllKeys({ spec }: Pod): boolean {
    return !this.#system || Boolean(spec.topologySpreadConstraints?.length);
  }
}

function read(
  constraints: readonly TopologySpreadConstraint[],
  { metadata }: Pod,
  action: SpreadAction,
): readonly SpreadConstraint[] {
  return constraints
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map((constraint) => ({
      maxSkew: constraint.maxSkew,
      topologyKey: constraint.topologyKey,
      selector: withKeys(
        labelSelectorOf(constraint.labelSelector),
        constraint.matchLabelKeys,
        metadata.labels,
      ),
      minDomains: constraint.minDomains ?? 1,
      nodeAffinityPolicy: (constraint.nodeAffinityPolicy ?? "Honor") as InclusionPolicy,
      nodeTaintsPolicy: (constraint.nodeTaintsPolicy ?? "Ignore") as InclusionPolicy,
    }));
}

/** The selector, and the pod's own values of these labels. A selector of nothing stays one. */
function withKeys(
  selector: LabelSelection,
  keys: readonly string[] | undefined,
  labels: Readonly<Record<string, string>> = {},
): LabelSelection {
  const own = (keys ?? []).filter((key) => Object.hasOwn(labels, key));
  if (own.length === 0 || (selector.requirements.length === 0 && !selector.empty)) return selector;
  const demands = own.map((key) => ({ key, operator: "in" as const, values: [labels[key]!] }));
  return selectionOf([...demands, ...selector.requirements]);
}

/** Selectors of the pod's siblings: its Services and its controller. */
function workloadSelector(pod: Pod, workloads: WorkloadLookup): LabelSelection {
  const { namespace } = pod.metadata;
  const labels: Record<string, string> = {};
  for (const { spec } of workloads.services(namespace))
    if (spec?.selector !== undefined && matchLabels(spec.selector, pod.metadata.labels))
      Object.assign(labels, spec.selector);
  const owner = controllerOf(pod);
  const { kind, apiVersion, name = "" } = owner ?? {};
  const type = `${apiVersion}/${kind}`;
  if (type === "v1/ReplicationController")
    Object.assign(labels, workloads.replicationController(namespace, name)?.spec?.selector);
  const byLabels = labelSelectorOf({ matchLabels: labels });
  const set =
    type === "apps/v1/ReplicaSet"
      ? workloads.replicaSet(namespace, name)
      : type === "apps/v1/StatefulSet"
        ? workloads.statefulSet(namespace, name)
        : undefined;
  if (set === undefined) return byLabels;
  return selectionOf([...byLabels.requirements, ...labelSelectorOf(set.spec?.selector).requirements]);
}

/** Whether a node counts for a constraint. */
export type NodeInclusion = (constraint: SpreadConstraint, node: Node) => boolean;

const blocking = ["NoSchedule", "NoExecute"];

/** Upstream: matchNodeInclusionPolicies */
export function nodeInclusion({ spec }: Pod): NodeInclusion {
  const { affinity, nodeSelector } = spec;
  const anywhere =
    nodeSelector === undefined &&
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution === undefined;
  const fits: NodeTest | undefined = anywhere ? undefined : readNodeAffinity(spec);
  return ({ nodeAffinityPolicy, nodeTaintsPolicy }, node) =>
    (nodeAffinityPolicy === "Ignore" || fits === undefined || fits(node)) &&
    (nodeTaintsPolicy === "Ignore" ||
      !node.spec.taints?.length ||
      untolerated(node.spec.taints, spec.tolerations, blocking).length === 0);
}

/** Reports whether the node has the topology keys of all constraints. */
export function hasKeys({ metadata }: Node, constraints: readonly SpreadConstraint[]): boolean {
  const { labels = {} } = metadata;
  return constraints.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey));
}

/**
 * Counts pods of a namespace that the selector selects; those that end do not count, and an empty selector
 * selects none.
 */
export function countSelected(
  counter: PodCounter,
  { selector }: SpreadConstraint,
  namespace: string,
  nodes: number,
): CountPods {
  if (selector.empty) return () => 0;
  return counter.counting(`${namespace} ${selector}`, nodes, ({ metadata }) => {
    if (metadata.namespace !== namespace || metadata.deletionTimestamp !== undefined) return false;
    return selector.matches(metadata.labels);
  });
}
