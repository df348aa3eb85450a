import type { RefusalGroup, RequestExplanation } from "@dray/allocator";
import type { Shortage } from "@dray/scheduler";
import type { Fault } from "../manifests/faults.ts";
import type { Rights } from "../observe/rights.ts";
import type { NodeRefusal } from "../plan/explain.ts";
import type { Counts, DeviceRow, HeadroomData } from "../top/rows.ts";

/** Output of `dray explain -o json`; its schema is schema/explain.json. */
export interface Explained {
  readonly version: 1;
  readonly kind: SubjectKind;
  /** null: not namespaced. */
  readonly namespace: string | null;
  readonly name: string;
  /** Its state in one word; the schema lists them for each kind. */
  readonly state: string;
  /** The answer in one sentence. */
  readonly summary: string;
  /** Reasons why it waits, in order. */
  readonly waits: readonly Wait[];
  /** Possible placement; null: not applicable, or unknown. */
  readonly placement: PlacementData | null;
  /** The claims of a pod, or the claim itself. */
  readonly claims: readonly ClaimData[];
  /** Only of a node, a class, a slice, or a device. */
  readonly devices: readonly DeviceRow[];
  /** Only of a node, a class, or a slice. */
  readonly counts: Counts | null;
  /** How many more devices of a class fit; of a node, by class. */
  readonly headroom: Readonly<Record<string, HeadroomData | null>>;
  /** Further facts, by name. */
  readonly facts: readonly Fact[];
  /** Only of a DeviceTaintRule: the pods with devices that it selects. */
  readonly evictions?: readonly EvictionData[];
  /** Objects that could not be read, and were left out. */
  readonly leftOut?: readonly LeftOutObject[];
  readonly rights: Rights;
}

/** An object that could not be read. */
export interface LeftOutObject {
  /** `Pod default/a` */
  readonly object: string;
  readonly why: string;
}

export const leftOutOf = (faults: readonly Fault[]): LeftOutObject[] =>
  faults.map(({ label, message }) => ({ object: label, why: message }));

/** A pod with devices that a DeviceTaintRule selects, and when it is evicted with the effect NoExecute. */
export interface EvictionData {
  /** `namespace/name` */
  readonly pod: string;
  readonly node: string;
  /** The claims with these devices, `namespace/name`. */
  readonly claims: readonly string[];
  /** `driver/pool/device` */
  readonly devices: readonly string[];
  /** RFC 3339; null: it stays. */
  readonly until: string | null;
  /** How long its claims tolerate the taint after it was added; null: for ever. */
  readonly toleratedSeconds: number | null;
}

export type SubjectKind =
  | "Pod"
  | "ResourceClaim"
  | "Node"
  | "Device"
  | "DeviceClass"
  | "ResourceSlice"
  | "DeviceTaintRule"
  | WorkloadKind;

/** Kinds that are explained by their pods. */
export type WorkloadKind = "DaemonSet" | "Deployment" | "Job" | "PodGroup" | "ReplicaSet" | "StatefulSet";

export type WaitFor =
  | "claim-not-created"
  | "claim-missing"
  | "claim-unusable"
  | "class-missing"
  | "scheduling-gate"
  | "pod-group"
  | "quota"
  | "driver-not-registered"
  | "prepare"
  | "prepare-failing"
  | "volume"
  | "extended-resource"
  | "failure"
  | "pods"
  | "binding-conditions"
  | "preemption"
  | "devices"
  | "nodes"
  | "scheduler"
  | "consumer"
  | "node"
  | "containers"
  | "termination"
  | "finalizers"
  | "unprepare-failing"
  | "pool"
  | "taint";

export interface Wait {
  readonly for: WaitFor;
  readonly message: string;
  /** The object that the reason is about, `Kind name` or `Kind namespace/name`; null: the subject itself. */
  readonly object: string | null;
  /** Since when, RFC 3339. */
  readonly since: string | null;
}

/** A name and its value, as text. */
export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface PlacementData {
  /** The node where it would be placed now; null: it does not fit. */
  readonly fits: string | null;
  /** Why it does not fit, in kube-scheduler's words. */
  readonly message: string | null;
  readonly nodes: number;
  /** The nodes, by the reason of their refusal. */
  readonly refusals: readonly NodeRefusal[];
  /** The pod of its group that no node takes while those before it have their nodes; null: the pod itself. */
  readonly blockedBy: string | null;
  /**
   * The most promising nodes, with each refused device. Only nodes with devices of the requested classes, if
   * some have any.
   */
  readonly promising: readonly NodeData[];
  /** Single changes with which it fits, the smallest first. Each was tried. */
  readonly changes: readonly Change[];
  /** Why an empty copy of the most promising node does not take it either; only without changes. */
  readonly emptyNode: NodeData | null;
  /** Number of tried changes. */
  readonly tried: number;
  /** Their kinds. */
  readonly triedKinds: readonly ChangeKind[];
}

export interface NodeData {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** Resources and ports of which the pod requests more than the node has left. */
  readonly shortages: readonly Shortage[];
  readonly claims: readonly {
    /** `namespace/name` */
    readonly claim: string;
    readonly requests: readonly (Omit<RequestExplanation, "refused"> & {
      readonly refused: readonly HeldRefusal[];
    })[];
  }[];
}

/** Refused devices; those in use with the pods that have them. */
export interface HeldRefusal extends RefusalGroup {
  readonly pods?: readonly string[];
  /** The DeviceTaintRules that set the taint. */
  readonly rules?: readonly string[];
}

export type ChangeKind =
  | "toleration"
  | "selector"
  | "constraint"
  | "capacity"
  | "count"
  | "class-selector"
  | "taint-rule"
  | "uncordon"
  | "node-ready"
  | "node-selector"
  | "affinity"
  | "spread"
  | "requests"
  | "host-port"
  | "device"
  | "pods"
  | "node"
  | "several";

/**
 * Maximum number of waiting pods and groups of higher priority that are placed before a pod, and of equals.
 */
export const maxRivals = 30;

/** The place of a pod after a change. */
export interface Landing {
  readonly node: string;
  /**
   * Waiting pods of the same priority that take its place if the scheduler tries them first. The order
   * depends on the time of its last attempts. Of many, `maxRivals` are looked at.
   */
  readonly rivals: readonly string[];
}

export interface Change extends Landing {
  readonly kind: ChangeKind;
  /** As text. */
  readonly text: string;
  /** Subject of the change: a claim and request, a taint, pods, a device, a node to copy. */
  readonly about: Readonly<Record<string, string | number | readonly string[]>>;
  /** The parts of several changes together. */
  readonly changes?: readonly Omit<Change, keyof Landing | "changes">[];
}

export interface ClaimData {
  /** `namespace/name` */
  readonly claim: string;
  /** The pod's own name for it; null: not of a pod. */
  readonly podClaim: string | null;
  readonly template: string | null;
  readonly state: string;
  readonly reservedFor: readonly string[];
  readonly devices: readonly AllocatedDevice[];
  readonly configuration: readonly ConfigurationData[];
  /** Devices of the pod's containers in the kubelet's report, by CDI ID if there is one (KEP-4680). */
  readonly prepared: readonly PreparedData[];
}

export interface PreparedData {
  readonly container: string;
  /** null: all requests of the claim. */
  readonly request: string | null;
  readonly resource: string;
  readonly health: string;
  readonly message: string | null;
}

export interface AllocatedDevice {
  /** `driver/pool/device` */
  readonly device: string;
  readonly node: string | null;
  /** A slice publishes it. */
  readonly isPublished: boolean;
  readonly request: string;
  /** For a request with alternatives: the chosen one, its number from 1 on, and their count. */
  readonly alternative: { readonly name: string; readonly rank: number; readonly of: number } | null;
  readonly deviceClass: string | null;
  readonly adminAccess: boolean;
  readonly shareID: string | null;
  readonly consumedCapacity: Readonly<Record<string, string>> | null;
  readonly health: string | null;
  readonly taints: readonly string[];
  /** The driver's report about the device. */
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
  /** `interface 10.0.0.1/24`; null: the driver does not report it. */
  readonly network: string | null;
  /** Further data of the driver's report; null: absent. */
  readonly data: unknown;
}

export interface ConfigurationData {
  readonly source: string;
  /** Empty: all requests. */
  readonly requests: readonly string[];
  readonly driver: string;
  /** As the driver receives it. */
  readonly parameters: unknown;
}
