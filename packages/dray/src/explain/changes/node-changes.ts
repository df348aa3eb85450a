import { untolerated } from "@dray/api";
import type { Node, Pod, Taint } from "@dray/api/core/v1";
import { cordonTaint } from "../../inventory/allocator.ts";
import type { NodeRefusal } from "../../plan/explain.ts";
import type { Trial } from "../trial.ts";
import type { Candidate } from "./attempts.ts";
import { podEdits, podsText } from "./owners.ts";

/** Returns changes for nodes that were rejected for what they are, or for the pods on them. */
export function nodeChanges(trial: Trial, blocked: Pod, refusals: readonly NodeRefusal[]): Candidate[] {
  const plugins = new Set(refusals.map(({ plugin }) => plugin));
  const nodes = trial.world.all("Node").map(({ object }) => object);
  return [
    ...(plugins.has("TaintToleration")
      ? [...tolerations(trial, blocked, nodes), ...recovered(blocked, nodes)]
      : []),
    ...(plugins.has("NodeUnschedulable") ? uncordoned(nodes) : []),
    ...(plugins.has("NodeAffinity") || plugins.has("VolumeBinding")
      ? withoutNodeSelector(trial, blocked)
      : []),
    ...(plugins.has("InterPodAffinity") ? withoutAffinity(trial, blocked) : []),
    ...(plugins.has("PodTopologySpread") ? withoutSpread(trial, blocked) : []),
  ];
}

/** Maximum number of taints, or of cordoned nodes, to try. */
const maxTried = 5;

function tolerations(trial: Trial, blocked: Pod, nodes: readonly Node[]): Candidate[] {
  const taints = new Map<string, Taint>();
  for (const { spec } of nodes) {
    for (const taint of untolerated(spec.taints, blocked.spec.tolerations, ["NoSchedule", "NoExecute"])) {
      // Taints for a condition of the node disappear with its cause.
      if (isCondition(taint)) continue;
      taints.set(`${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`, taint);
    }
  }
  return [...taints].slice(0, maxTried).map(([text, { key, value, effect }]) => ({
    kind: "toleration",
    text: `${podsText(trial)} tolerating the taint ${text} of nodes`,
    about: { taint: text },
    edits: podEdits(trial, (pod) => {
      const toleration = { key, operator: value ? "Equal" : "Exists", ...(value && { value }), effect };
      const tolerations = [...(pod.spec.tolerations ?? []), toleration];
      return withSpec(pod, { tolerations: tolerations as NonNullable<Pod["spec"]["tolerations"]> });
    }),
  }));
}

/** Upstream: pkg/controller/nodelifecycle sets these taints by the conditions of the node. */
const isCondition = ({ key }: Taint): boolean => key.startsWith("node.kubernetes.io/");

/** Tries nodes without the taints of their conditions, which disappear with the cause. */
function recovered(blocked: Pod, nodes: readonly Node[]): Candidate[] {
  const broken = nodes.flatMap((node) => {
    const taints = untolerated(node.spec.taints, blocked.spec.tolerations, ["NoSchedule", "NoExecute"]);
    const keys = taints.filter((each) => isCondition(each) && each.key !== cordonTaint).map(({ key }) => key);
    return keys.length === 0 ? [] : { node, keys: [...new Set(keys)] };
  });
  return broken.slice(0, maxTried).map(({ node, keys }) => {
    const { name } = node.metadata;
    const taints = (node.spec.taints ?? []).filter((each) => !keys.includes(each.key));
    return {
      kind: "node-ready",
      text: `node ${name} healthy again (${brokenText(node, keys)})`,
      about: { node: name },
      edits: [{ object: node, edit: (): Node => ({ ...node, spec: { ...node.spec, taints } }) }],
    };
  });
}

/** Returns what the kubelet says of the node, or the taints. */
function brokenText({ status }: Node, keys: readonly string[]): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const said = [ready?.reason, ready?.message].filter((part) => part).join(": ");
  const isUnready = ready !== undefined && ready.status !== "True" && said !== "";
  return isUnready ? `it is not ready: ${said}` : `it has the taint ${keys.join(", ")}`;
}

function uncordoned(nodes: readonly Node[]): Candidate[] {
  return nodes
    .filter(({ spec }) => spec.unschedulable === true)
    .slice(0, maxTried)
    .map((node) => {
      const { unschedulable: _, ...spec } = node.spec;
      const taints = spec.taints?.filter(({ key }) => key !== cordonTaint);
      const { name } = node.metadata;
      const edit = (): Node => ({ ...node, spec: { ...spec, ...(taints && { taints }) } });
      return {
        ...{ kind: "uncordon", text: `node ${name} uncordoned`, about: { node: name } },
        edits: [{ object: node, edit }],
      };
    });
}

function withoutNodeSelector(trial: Trial, { spec }: Pod): Candidate[] {
  if (spec.nodeSelector === undefined && spec.affinity?.nodeAffinity === undefined) return [];
  return [
    {
      kind: "node-selector",
      text: `${podsText(trial)} without ${trial.members.length < 2 ? "its" : "their"} node selector and required node affinity`,
      about: {},
      edits: podEdits(trial, (pod) => {
        const { nodeSelector: _, affinity = {}, ...spec } = pod.spec;
        const { nodeAffinity: __, ...rest } = affinity;
        return { ...pod, spec: { ...spec, affinity: rest } };
      }),
    },
  ];
}

/** Tries the pod without one kind of its required terms, then without both. */
function withoutAffinity(trial: Trial, { spec }: Pod): Candidate[] {
  const kinds = (["podAffinity", "podAntiAffinity"] as const).filter(
    (kind) => (spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0,
  );
  const words = { podAffinity: "pod affinity", podAntiAffinity: "pod anti-affinity" };
  const sets = kinds.length > 1 ? [...kinds.map((kind) => [kind]), kinds] : kinds.map((kind) => [kind]);
  return sets.map((set) => ({
    kind: "affinity",
    text: `${podsText(trial)} without required ${set.map((kind) => words[kind]).join(" and ")}`,
    about: { affinity: set },
    edits: podEdits(trial, (pod) => {
      const affinity = { ...pod.spec.affinity };
      for (const kind of set) {
        const { requiredDuringSchedulingIgnoredDuringExecution: _, ...rest } = affinity[kind] ?? {};
        affinity[kind] = rest;
      }
      return withSpec(pod, { affinity });
    }),
  }));
}

function withoutSpread(trial: Trial, { spec }: Pod): Candidate[] {
  const strict = (spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  );
  if (strict.length === 0) return [];
  const keys = strict.map(({ topologyKey }) => topologyKey);
  return [
    {
      kind: "spread",
      text: `${podsText(trial)} with whenUnsatisfiable: ScheduleAnyway in the topology spread constraints (${keys.join(", ")})`,
      about: { topologyKeys: keys },
      edits: podEdits(trial, (pod) =>
        withSpec(pod, {
          topologySpreadConstraints: (pod.spec.topologySpreadConstraints ?? []).map((each) => ({
            ...each,
            whenUnsatisfiable: "ScheduleAnyway" as const,
          })),
        }),
      ),
    },
  ];
}

/** Returns the pod with another spec. */
const withSpec = (pod: Pod, spec: Partial<Pod["spec"]>): Pod => ({
  ...pod,
  spec: { ...pod.spec, ...spec },
});
