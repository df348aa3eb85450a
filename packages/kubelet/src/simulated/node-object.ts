import type { Features } from "@dray/api";
import type { Node, NodeCondition, NodeStatus } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { declaredFeatures } from "../node/declared-features.ts";
import { runtimeName } from "./containers.ts";

/** Label and annotation of every simulated Node. */
export const simulatedLabel = "dray.dev/simulated";

/** A simulated node. */
export interface SimulatedNode {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Replaces the default capacity, by resource. */
  readonly capacity?: Readonly<Record<string, string>>;
}

/** Facts that all simulated nodes share. */
export interface NodeSurroundings {
  /** Version of the API server, reported as the kubelet's. */
  readonly version: string;
  readonly features: Features;
  readonly address: string;
  /** Port of the endpoint; absent if nothing listens. */
  readonly port: number | undefined;
}

/** Capacity of a node that does not say its own: roughly a server with eight GPUs. */
export const defaultCapacity = {
  cpu: "64",
  memory: "512Gi",
  "ephemeral-storage": "1Ti",
  pods: "110",
} as const;

const conditions = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory", "the node is simulated"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "the node is simulated"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "the node is simulated"],
  ["Ready", "True", "KubeletReady", "the node is simulated: it runs no containers"],
] as const;

/** Labels of a simulated Node; its own override the others. */
export function nodeLabels({ name, labels = {} }: SimulatedNode): Record<string, string> {
  return {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
    ...labels,
    "kubernetes.io/hostname": name,
    [simulatedLabel]: "true",
  };
}

/** Status of a ready node. */
export function nodeStatus(
  node: SimulatedNode,
  { version, features, address, port }: NodeSurroundings,
  now: number,
  old: NodeStatus | undefined,
): NodeStatus {
  const { name } = node;
  const capacity = { ...defaultCapacity, ...node.capacity };
  const time = timeText(now);
  const declared = declaredFeatures(features);
  const labels = nodeLabels(node);
  return {
    capacity,
    allocatable: capacity,
    conditions: conditions.map(([type, status, reason, message]): NodeCondition => {
      const before = old?.conditions?.find((one) => one.type === type);
      return {
        ...{ type, status, reason, message },
        lastHeartbeatTime: time,
        lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? time) : time,
      };
    }),
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: name },
    ],
    ...(port !== undefined && { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
    ...(declared.length > 0 && { declaredFeatures: [...declared] }),
    nodeInfo: {
      machineID: name,
      systemUUID: name,
      bootID: name,
      kernelVersion: runtimeName,
      osImage: "Simulated by Dray",
      containerRuntimeVersion: `${runtimeName}://1`,
      kubeletVersion: version,
      kubeProxyVersion: "",
      operatingSystem: labels["kubernetes.io/os"] ?? "linux",
      architecture: labels["kubernetes.io/arch"] ?? "amd64",
    },
  };
}

/** Returns true if the Node is as wanted, apart from times. */
export function saysSo(found: Node, wanted: NodeStatus): boolean {
  const { status } = found;
  const theirs = status?.conditions ?? [];
  return (
    (wanted.conditions ?? []).every(
      ({ type, status }) => theirs.find((one) => one.type === type)?.status === status,
    ) &&
    Object.entries(wanted.capacity ?? {}).every(([name, value]) => status?.capacity?.[name] === value) &&
    // The server writes 0 for none.
    (status?.daemonEndpoints?.kubeletEndpoint?.Port || undefined) ===
      wanted.daemonEndpoints?.kubeletEndpoint?.Port &&
    status?.nodeInfo?.kubeletVersion === wanted.nodeInfo?.kubeletVersion &&
    status?.addresses?.[0]?.address === wanted.addresses?.[0]?.address
  );
}
