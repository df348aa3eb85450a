import type { Node, NodeCondition, Taint } from "@dray/api/core/v1";

const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** Taints that follow from conditions, by type and status. */
const conditionTaints: readonly { type: string; status: string; key: string; effects: readonly string[] }[] =
  [
    { type: "Ready", status: "False", key: "not-ready", effects: ["NoSchedule", "NoExecute"] },
    { type: "Ready", status: "Unknown", key: "unreachable", effects: ["NoSchedule", "NoExecute"] },
    { type: "MemoryPressure", status: "True", key: "memory-pressure", effects: ["NoSchedule"] },
    { type: "DiskPressure", status: "True", key: "disk-pressure", effects: ["NoSchedule"] },
    { type: "PIDPressure", status: "True", key: "pid-pressure", effects: ["NoSchedule"] },
    { type: "NetworkUnavailable", status: "True", key: "network-unavailable", effects: ["NoSchedule"] },
  ];
const unschedulable = "node.kubernetes.io/unschedulable";
const ownKeys: ReadonlySet<string> = new Set([
  ...conditionTaints.map(({ key }) => `node.kubernetes.io/${key}`),
  unschedulable,
]);

export function readyCondition({ status }: Node): NodeCondition | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

/** The conditions of a node whose kubelet has fallen silent. */
export function unknownConditions({ metadata, status }: Node, now: string): NodeCondition[] {
  const old = status?.conditions ?? [];
  const conditions: NodeCondition[] = old.map((condition) =>
    !kubeletConditions.includes(condition.type) || condition.status === "Unknown"
      ? condition
      : {
          ...condition,
          status: "Unknown",
          reason: "NodeStatusUnknown",
          message: "Kubelet stopped posting node status.",
          lastTransitionTime: now,
        },
  );
  for (const type of kubeletConditions) {
    if (old.some((condition) => condition.type === type)) continue;
    conditions.push({
      type,
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: metadata.creationTimestamp,
      lastTransitionTime: now,
    });
  }
  return conditions;
}

/** Reports whether the pods of a node that is not ready are being evicted. */
export function isEvicted({ spec }: Node): boolean {
  return (spec.taints ?? []).some(({ key, effect }) => effect === "NoExecute" && ownKeys.has(key));
}

/**
 * The taints that the node should have, those of others included; undefined if it has them. The pods of a
 * node that is not ready are evicted only if `evicts`.
 */
export function changedTaints(node: Node, now: string, evicts: boolean): Taint[] | undefined {
  const old = node.spec.taints ?? [];
  const wanted: Taint[] = [];
  const want = (key: string, effect: string): void => {
    if (effect === "NoExecute" && !evicts) return;
    const there = old.find((taint) => taint.key === key && taint.effect === effect);
    wanted.push(there ?? { key, effect, timeAdded: now });
  };
  for (const { type, status, key, effects } of conditionTaints) {
    const condition = node.status?.conditions?.find((candidate) => candidate.type === type);
    if (condition?.status === status) for (const effect of effects) want(`node.kubernetes.io/${key}`, effect);
  }
  if (node.spec.unschedulable === true) want(unschedulable, "NoSchedule");
  // A node that has said nothing yet keeps the taint that it registered with.
  const hasReported = readyCondition(node) !== undefined;
  const kept = old.filter(({ key }) => !ownKeys.has(key) || (!hasReported && key !== unschedulable));
  const taints = [...kept, ...wanted.filter((taint) => !kept.includes(taint))];
  const same = taints.length === old.length && taints.every((taint) => old.includes(taint));
  return same ? undefined : taints;
}
