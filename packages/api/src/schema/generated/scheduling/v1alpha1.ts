// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { NamespacedMeta } from "../../../objects/object.ts";

export type BasicSchedulingPolicy = unknown;

export interface GangSchedulingPolicy {
  minCount: number;
}

export interface PodGroup {
  name: string;
  policy: PodGroupPolicy;
}

export interface PodGroupPolicy {
  basic?: BasicSchedulingPolicy;
  gang?: GangSchedulingPolicy;
}

export interface TypedLocalObjectReference {
  apiGroup?: string;
  /** The kind of the object, in CamelCase. */
  kind: string;
  name: string;
}

export interface Workload {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: WorkloadSpec;
}

export interface WorkloadSpec {
  controllerRef?: TypedLocalObjectReference;
  podGroups: PodGroup[];
}
