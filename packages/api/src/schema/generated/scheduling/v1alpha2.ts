// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { NamespacedMeta } from "../../../objects/object.ts";
import type { Condition } from "../meta/v1.ts";

export type BasicSchedulingPolicy = unknown;

export interface GangSchedulingPolicy {
  minCount: number;
}

export interface PodGroup {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: PodGroupSpec;
  /** Last observed status. The system writes it. */
  status?: PodGroupStatus;
}

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

/** Where pods must be together. */
export interface TopologyConstraint {
  /** Label of nodes whose value must be equal. */
  key: string;
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

export interface WorkloadPodGroupTemplateReference {
  workloadName: string;
  podGroupTemplateName: string;
}

export interface WorkloadSpec {
  controllerRef?: TypedLocalObjectReference;
  podGroupTemplates: PodGroupTemplate[];
}
