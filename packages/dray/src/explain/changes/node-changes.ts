import { untolerated } from "@dray/api";
import type { Node, Pod, Taint } from "@dray/api/core/v1";
import type { NodeRefusal } from "../../plan/explain.ts";
import type { Trial } from "../trial.ts";
import type { Candidate } from "./attempts.ts";

/** Returns changes of nodes that were rejected before their devices were checked. */
export function nodeChanges(trial: Trial, refusals: readonly NodeRefusal[]): Candidate[] {
  const plugins = new Set(refusals.map(({ plugin }) => plugin));
  const nodes = trial.world.all("Node").map(({ object }) => object);
  return [
    ...(plugins.has("TaintToleration") ? tolerations(trial, nodes) : []),
    ...(plugins.has("NodeUnschedulable") ? uncordoned(nodes) : []),
    ...(plugins.has("NodeAffinity") ? [withoutSelector(trial)] : []),
  ];
}

/** Maximum number of taints, or of cordoned nodes, to try. */
const maxTried = 5;

function tolerations(trial: Trial, nodes: readonly Node[]): Candidate[] {
  const { pod } = trial;
  const taints = new Map<string, Taint>();
  for (const { spec } of nodes) {
    for (const taint of untolerated(spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"])) {
      // Taints for a condition of the node disappear with its cause.
      if (taint.key.startsWith("node.kubernetes.io/")) continue;
      taints.set(`${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`, taint);
    }
  }
  return [...taints].slice(0, maxTried).map(([text, { key, value, effect }]) => ({
    kind: "toleration",
    text: `the pod tolerating the taint ${text} of nodes`,
    about: { taint: text },
    object: pod,
    edit: (object) => {
      const { tolerations: before = [] } = (object as Pod).spec;
      const toleration = { key, operator: value ? "Equal" : "Exists", ...(value && { value }), effect };
      const tolerations = [...before, toleration] as NonNullable<typeof pod.spec.tolerations>;
      return withSpec(object as Pod, { tolerations });
    },
  }));
}

function uncordoned(nodes: readonly Node[]): Candidate[] {
  return nodes
    .filter(({ spec }) => spec.unschedulable === true)
    .slice(0, maxTried)
    .map((node) => {
      const { unschedulable: _, ...spec } = node.spec;
      const taints = spec.taints?.filter(({ key }) => key !== "node.kubernetes.io/unschedulable");
      const { name } = node.metadata;
      return {
        ...{ kind: "uncordon", text: `node ${name} uncordoned`, about: { node: name } },
        object: node,
        edit: (): Node => ({ ...node, spec: { ...spec, ...(taints && { taints }) } }),
      };
    });
}

function withoutSelector({ pod }: Trial): Candidate {
  return {
    kind: "node-selector",
    text: "the pod without its node selector and required node affinity",
    about: {},
    object: pod,
    edit: (object): Pod => {
      const { nodeSelector: _, affinity = {}, ...spec } = (object as Pod).spec;
      const { nodeAffinity: __, ...rest } = affinity;
      return { ...(object as Pod), spec: { ...spec, affinity: rest } };
    },
  };
}

/** Returns the pod with another spec. */
const withSpec = (pod: Pod, spec: Partial<Pod["spec"]>): Pod => ({
  ...pod,
  spec: { ...pod.spec, ...spec },
});
