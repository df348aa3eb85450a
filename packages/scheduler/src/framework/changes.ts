import { encodeJSON } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Change, ClusterEvent, NodePart } from "./framework.ts";

/** Reports whether two parts of objects differ; absent, null and empty are the same. */
export function differ(a: unknown, b: unknown): boolean {
  return a !== b && text(a) !== text(b);
}

function text(value: unknown): string {
  const json = encodeJSON(value ?? null);
  return json === "[]" || json === "{}" ? "null" : json;
}

const partsOf: Readonly<Record<NodePart, (node: Node) => unknown>> = {
  allocatable: ({ status }) => status?.allocatable,
  annotations: ({ metadata }) => metadata.annotations,
  // Heartbeats change only their times.
  conditions: ({ status }) =>
    (status?.conditions ?? []).map(({ type, status: state }) => `${type}=${state}`).sort(),
  declaredFeatures: ({ status }) => status?.declaredFeatures,
  labels: ({ metadata }) => metadata.labels,
  taints: ({ spec }) => spec.taints,
  unschedulable: ({ spec }) => spec.unschedulable === true,
};

/**
 * The event of a node, with what has changed: found once, not by each plugin for each waiting pod. Upstream:
 * pkg/scheduler/framework/events.go, NodeSchedulingPropertiesChange.
 */
export function nodeEvent(change: Change, node: Node, old?: Node): ClusterEvent & { readonly kind: "node" } {
  const parts = Object.keys(partsOf) as NodePart[];
  const changed = parts.filter(
    (part) => old === undefined || differ(partsOf[part](old), partsOf[part](node)),
  );
  const { name } = node.metadata;
  return { kind: "node", change, name, node, changed: new Set(changed), ...(old && { old }) };
}
