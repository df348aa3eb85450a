import { matchesNode, untolerated } from "@dray/api";
import type { DaemonSet } from "@dray/api/apps/v1";
import type { Affinity, Node, NodeSelectorTerm, Pod, PodTemplateSpec, Toleration } from "@dray/api/core/v1";

/** Whether a DaemonSet runs on a node. */
export interface DaemonNodeDecision {
  /** A missing pod is created. */
  readonly run: boolean;
  /** A pod that is there may stay. */
  readonly keep: boolean;
}

const evictionTaints = ["not-ready", "unreachable"];
const schedulingTaints = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"];

/** Daemons run where other pods would be kept away: on nodes under pressure, cordoned or not ready. */
function daemonTolerations(template: PodTemplateSpec): Toleration[] {
  const exists = (name: string, effect: string): Toleration => ({
    key: `node.kubernetes.io/${name}`,
    operator: "Exists",
    effect,
  });
  return [
    ...evictionTaints.map((name) => exists(name, "NoExecute")),
    ...schedulingTaints.map((name) => exists(name, "NoSchedule")),
    ...(template.spec.hostNetwork === true ? [exists("network-unavailable", "NoSchedule")] : []),
  ];
}

/** Decides whether the DaemonSet wants a pod on the node. */
export function shouldRunDaemonPod(set: DaemonSet, node: Node): DaemonNodeDecision {
  const { spec } = set.spec.template;
  if (spec.nodeName && spec.nodeName !== node.metadata.name) return { run: false, keep: false };
  if (!matchesNode(spec, node)) return { run: false, keep: false };
  const tolerations = [...(spec.tolerations ?? []), ...daemonTolerations(set.spec.template)];
  const { taints } = node.spec;
  return {
    run: untolerated(taints, tolerations, ["NoSchedule", "NoExecute"]).length === 0,
    keep: untolerated(taints, tolerations, ["NoExecute"]).length === 0,
  };
}

/**
 * The template for one node: bound to it by a node affinity on `metadata.name`, so that the scheduler, not
 * we, decides when it fits there.
 */
export function templateFor(set: DaemonSet, node: string, hash: string): PodTemplateSpec {
  const { template } = set.spec;
  const tolerations = [...(template.spec.tolerations ?? [])];
  for (const added of daemonTolerations(template)) {
    const there = tolerations.some(
      ({ key, operator, effect }) =>
        key === added.key && (operator ?? "Equal") === added.operator && effect === added.effect,
    );
    if (!there) tolerations.push(added);
  }
  return {
    ...template,
    metadata: {
      ...template.metadata,
      labels: {
        ...template.metadata?.labels,
        ...generationLabel(set),
        "controller-revision-hash": hash,
      },
    },
    spec: { ...template.spec, affinity: pinned(template.spec.affinity, node), tolerations },
  };
}

/**
 * Returns how often the template has changed, as the server counts it in an annotation: for readers of older
 * releases.
 */
function generationLabel({ metadata }: DaemonSet): Record<string, string> {
  const generation = metadata.annotations?.["deprecated.daemonset.template.generation"] ?? "";
  return /^[+-]?[0-9]+$/.test(generation) ? { "pod-template-generation": String(Number(generation)) } : {};
}

function pinned(affinity: Affinity | undefined, node: string): Affinity {
  const onNode = { key: "metadata.name", operator: "In", values: [node] };
  const terms =
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  // A name of another node in the template would contradict: the pin takes its place.
  const nodeSelectorTerms: NodeSelectorTerm[] =
    terms.length === 0
      ? [{ matchFields: [onNode] }]
      : terms.map((term) => ({
          ...(term.matchExpressions === undefined ? {} : { matchExpressions: term.matchExpressions }),
          matchFields: [onNode],
        }));
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
}

/** The node that a pod runs on, or is pinned to until the scheduler has bound it. */
export function targetNode(pod: Pod): string | undefined {
  if (pod.spec.nodeName) return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields } of terms)
    for (const { key, operator, values } of matchFields ?? [])
      if (key === "metadata.name" && operator === "In" && values?.length === 1) return values[0];
  return undefined;
}
