// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta } from "../../objects/object.ts";

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
  kind: string;
  name: string;
}

export interface Workload {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: WorkloadSpec;
}

export const Workload: Kind<Workload> = {"group":"scheduling.k8s.io","version":"v1alpha1","kind":"Workload","resource":"workloads","namespaced":true};

export interface WorkloadSpec {
  controllerRef?: TypedLocalObjectReference;
  podGroups: PodGroup[];
}
