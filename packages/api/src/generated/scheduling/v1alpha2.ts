// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta } from "../../objects/object.ts";
import type { Condition } from "../meta/v1.ts";

export type BasicSchedulingPolicy = unknown;

export interface GangSchedulingPolicy {
  minCount: number;
}

export interface PodGroup {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: PodGroupSpec;
  status?: PodGroupStatus;
}

export const PodGroup: Kind<PodGroup> = {"group":"scheduling.k8s.io","version":"v1alpha2","kind":"PodGroup","resource":"podgroups","namespaced":true};

export interface PodGroupResourceClaim {
  name: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
}

export interface PodGroupResourceClaimStatus {
  name: string;
  resourceClaimName?: string;
}

export interface PodGroupSchedulingConstraints {
  topology?: TopologyConstraint[];
}

export interface PodGroupSchedulingPolicy {
  basic?: BasicSchedulingPolicy;
  gang?: GangSchedulingPolicy;
}

export interface PodGroupSpec {
  podGroupTemplateRef?: PodGroupTemplateReference;
  schedulingPolicy: PodGroupSchedulingPolicy;
  schedulingConstraints?: PodGroupSchedulingConstraints;
  resourceClaims?: PodGroupResourceClaim[];
  disruptionMode?: string;
  priorityClassName?: string;
  priority?: number;
}

export interface PodGroupStatus {
  conditions?: Condition[];
  resourceClaimStatuses?: PodGroupResourceClaimStatus[];
}

export interface PodGroupTemplate {
  name: string;
  schedulingPolicy: PodGroupSchedulingPolicy;
  schedulingConstraints?: PodGroupSchedulingConstraints;
  resourceClaims?: PodGroupResourceClaim[];
  disruptionMode?: string;
  priorityClassName?: string;
  priority?: number;
}

export interface PodGroupTemplateReference {
  workload?: WorkloadPodGroupTemplateReference;
}

export interface TopologyConstraint {
  key: string;
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

export const Workload: Kind<Workload> = {"group":"scheduling.k8s.io","version":"v1alpha2","kind":"Workload","resource":"workloads","namespaced":true};

export interface WorkloadPodGroupTemplateReference {
  workloadName: string;
  podGroupTemplateName: string;
}

export interface WorkloadSpec {
  controllerRef?: TypedLocalObjectReference;
  podGroupTemplates?: PodGroupTemplate[];
}
