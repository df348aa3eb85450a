/** Plugins that look at one node and one pod only. */

import { type NodeTest, readNodeAffinity, readNodePreferences, untolerated } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { sidecarsOf } from "@dray/api/pod";
import { normalizeByHighest, type Plugin, type Rejection } from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";

function rejection(plugin: string, reason: string, resolvable = false): Rejection {
  return { plugin, reasons: [reason], resolvable };
}

/** Pods with scheduling gates wait until the last gate is removed (KEP-3521). */
export const schedulingGates: Plugin = {
  name: "SchedulingGates",
  preEnqueue(pod) {
    const gates = pod.spec.schedulingGates ?? [];
    if (gates.length === 0) return undefined;
    return `waiting for scheduling gates: [${gates.map((gate) => gate.name).join(" ")}]`;
  },
  mayHelp: (_pod, event) => event.kind === "own-pod",
};

/** Effects that keep a pod off a node. */
const blocking = ["NoSchedule", "NoExecute"];
const unschedulableTaint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Cordoned nodes take only pods that tolerate it. */
export const nodeUnschedulable: Plugin = {
  name: "NodeUnschedulable",
  filter(_state, pod, { node }) {
    if (!node.spec.unschedulable) return undefined;
    if (untolerated([unschedulableTaint], pod.spec.tolerations, blocking).length === 0) return undefined;
    return rejection("NodeUnschedulable", "node(s) were unschedulable");
  },
  mayHelp: (_pod, event) => event.kind === "node" || event.kind === "own-pod",
};

export const taintToleration: Plugin = {
  name: "TaintToleration",
  weight: 3,
  filter(_state, pod, { node }) {
    if (untolerated(node.spec.taints, pod.spec.tolerations, blocking).length === 0) return undefined;
    return rejection("TaintToleration", "node(s) had untolerated taint(s)");
  },
  score(_state, pod, { node }) {
    return untolerated(node.spec.taints, pod.spec.tolerations, ["PreferNoSchedule"]).length;
  },
  normalize: (scores) => normalizeByHighest(scores, true),
  mayHelp: (_pod, event) => event.kind === "node" || event.kind === "own-pod",
};

/**
 * Node names that the pod's affinity allows by `metadata.name`, when every term names some: all of its requirements
 * hold together. Upstream: nodeaffinity/node_affinity.go, PreFilter.
 */
function namedNodes(pod: Pod): Set<string> | undefined {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const term of terms) {
    const fields = (term.matchFields ?? []).filter((f) => f.key === "metadata.name" && f.operator === "In");
    if (fields.length === 0) return undefined;
    const sets = fields.map(({ values }) => new Set(values));
    for (const name of sets.reduce((both, other) => both.intersection(other))) names.add(name);
  }
  return names;
}

/** What one attempt reads once. */
interface NodeAffinityState {
  readonly required: NodeTest;
  preferred?: ReturnType<typeof readNodePreferences>;
}

export const nodeAffinity: Plugin = {
  name: "NodeAffinity",
  weight: 2,
  preFilter(state, pod) {
    state.set("NodeAffinity", { required: readNodeAffinity(pod.spec) } satisfies NodeAffinityState);
    const nodes = namedNodes(pod);
    if (nodes === undefined) return { type: "continue" };
    if (nodes.size === 0)
      return { type: "reject", rejection: rejection("NodeAffinity", "pod affinity terms conflict") };
    return { type: "continue", nodes };
  },
  filter(state, _pod, { node }) {
    const fits = (state.get("NodeAffinity") as NodeAffinityState).required(node);
    return fits ? undefined : rejection("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  },
  score(state, pod, { node }) {
    const own = state.get("NodeAffinity") as NodeAffinityState;
    own.preferred ??= readNodePreferences(
      pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [],
    );
    return own.preferred(node);
  },
  normalize: (scores) => normalizeByHighest(scores),
  mayHelp: (_pod, event) => event.kind === "node" || event.kind === "own-pod",
};

interface HostPort {
  readonly port: number;
  readonly protocol: string;
  readonly ip: string;
}

function hostPorts(pod: Pod): HostPort[] {
  return [...pod.spec.containers, ...sidecarsOf(pod.spec)].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort, protocol, hostIP }) =>
      hostPort ? [{ port: hostPort, protocol: protocol || "TCP", ip: hostIP || "0.0.0.0" }] : [],
    ),
  );
}

const collide = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port &&
  a.protocol === b.protocol &&
  (a.ip === b.ip || a.ip === "0.0.0.0" || b.ip === "0.0.0.0");

export const nodePorts: Plugin = {
  name: "NodePorts",
  preFilter: (_state, pod) => ({ type: hostPorts(pod).length === 0 ? "skip" : "continue" }),
  filter(_state, pod, node: NodeInfo) {
    const wanted = hostPorts(pod);
    const taken = [...node.pods.values()].flatMap(hostPorts);
    if (!wanted.some((port) => taken.some((other) => collide(port, other)))) return undefined;
    return rejection("NodePorts", "node(s) didn't have free ports for the requested pod ports", true);
  },
  mayHelp: (_pod, event) =>
    event.kind === "node" ||
    (event.kind === "assigned-pod" && event.change === "delete") ||
    event.kind === "released",
};
