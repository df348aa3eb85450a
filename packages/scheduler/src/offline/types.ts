import type { AllocatorOptions, Explanation } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from "@dray/api/storage/v1";
import type { SchedulerConfiguration } from "../config/types.ts";
import type { Rejection } from "../framework/framework.ts";
import type { Shortage } from "./shortages.ts";

export interface OfflineOptions {
  readonly features: Features;
  /** Lowercase UUIDs, for shares of devices. */
  readonly newId: () => string;
  /** Milliseconds since the epoch, for the limit of the search on one node and for binding conditions. */
  readonly now: () => number;
  /** Compiled selectors, to share with other schedulers and allocators. */
  readonly environment?: AllocatorOptions["environment"];
  /** The scheduler's profiles; one of the default plugins if absent. */
  readonly configuration?: SchedulerConfiguration | undefined;
  /** Whether pods need their volumes: then `add` gets all objects of storage. */
  readonly volumes?: boolean;
}

/** Result for a pod. */
export type Placement =
  | { readonly type: "placed"; readonly node: string }
  /** `rejections` by node; `upfront`: all nodes at once. */
  | {
      readonly type: "refused";
      /** In kube-scheduler's words. */
      readonly message: string;
      readonly rejections: ReadonlyMap<string, Rejection>;
      readonly upfront?: Rejection;
    }
  /**
   * The attempt failed, whatever the nodes have (a selector in error): kube-scheduler would try again and
   * again.
   */
  | { readonly type: "error"; readonly message: string }
  /** Too few pods of its group can be placed, whether or not a node takes this one. */
  | { readonly type: "held"; readonly message: string }
  /** Held back before it is tried: scheduling gates. */
  | { readonly type: "gated"; readonly message: string };

/** Objects that can be added; `apiVersion` is v1 of its group, v1beta1 of groups of pods. */
export type OfflineObject =
  | Node
  | Pod
  | PodGroup
  | Namespace
  | DeviceClass
  | DeviceTaintRule
  | ResourceClaim
  | ResourceSlice
  | PersistentVolume
  | PersistentVolumeClaim
  | StorageClass
  | CSIDriver
  | CSINode
  | CSIStorageCapacity
  | VolumeAttachment;

/**
 * The scheduler without a cluster: the same plugins, for one pod at a time. All nodes are filtered, in
 * the order of their names; of equally good ones the first is taken. Nothing is preempted.
 */
export interface OfflineScheduler {
  /** An object of the cluster, new or changed; pods that are bound take their room. */
  add(object: OfflineObject): void;
  /** Decides about a pod; where it fits, it and the devices of its claims count from then on. */
  schedule(pod: Pod): Promise<Placement>;
  /**
   * Decides about the pods of one group together, in their order: where fewer than its minimum can be placed,
   * none is. `refused` is called for each pod that no node takes, while those before it hold their nodes and
   * devices.
   */
  scheduleGroup(
    pods: readonly Pod[],
    refused?: (pod: Pod, placement: Placement & { readonly type: "refused" }) => void,
  ): Promise<readonly Placement[]>;
  /** Decides about a pod as `schedule` does, and takes nothing. */
  preview(pod: Pod): Promise<Placement>;
  /** The newest state of a claim. */
  claim(namespace: string, name: string): ResourceClaim | undefined;
  /**
   * Returns the claim that was created with the decision about the pod, for its extended resources
   * (KEP-5004).
   */
  extendedClaim(pod: Pod): ResourceClaim | undefined;
  /**
   * Returns the pod as it counts on its node: its status has what the devices of its claims take of the node
   * (KEP-5517). Undefined if it is not there.
   */
  podOn(node: string, pod: Pod): Pod | undefined;
  /**
   * Returns why the node can or cannot serve the claims of the pod that have no devices yet; undefined: it
   * has none such.
   */
  explain(pod: Pod, node: string): Explanation | undefined;
  /** Returns the resources and ports that the pod requests and the node does not have left. */
  shortages(pod: Pod, node: string): readonly Shortage[];
}
