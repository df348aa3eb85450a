// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { NamespacedMeta } from "../../../objects/object.ts";
import type { Condition, ListMeta } from "../meta/v1.ts";

export type AllCompositeDisruptionMode = unknown;

export type AllDisruptionMode = unknown;

export type BasicSchedulingPolicy = unknown;

export type CompositeBasicSchedulingPolicy = unknown;

export interface CompositeDisruptionMode {
  single?: SingleCompositeDisruptionMode;
  all?: AllCompositeDisruptionMode;
}

export interface CompositeGangSchedulingPolicy {
  minGroupCount: number;
}

export interface CompositePodGroup {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: CompositePodGroupSpec;
  /** Last observed status. The system writes it. */
  status?: CompositePodGroupStatus;
}

export interface CompositePodGroupList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: CompositePodGroup[];
}

export interface CompositePodGroupSchedulingConstraints {
  topology?: TopologyConstraint[];
}

export interface CompositePodGroupSchedulingPolicy {
  basic?: CompositeBasicSchedulingPolicy;
  gang?: CompositeGangSchedulingPolicy;
}

export interface CompositePodGroupSpec {
  parentCompositePodGroupName?: string;
  workloadRef?: WorkloadReference;
  schedulingPolicy: CompositePodGroupSchedulingPolicy;
  schedulingConstraints?: CompositePodGroupSchedulingConstraints;
  disruptionMode?: CompositeDisruptionMode;
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
}

export interface CompositePodGroupStatus {
  conditions?: Condition[];
}

export interface CompositePodGroupTemplate {
  name: string;
  schedulingPolicy: CompositePodGroupSchedulingPolicy;
  schedulingConstraints?: CompositePodGroupSchedulingConstraints;
  disruptionMode?: CompositeDisruptionMode;
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
  podGroupTemplates?: PodGroupTemplate[];
  compositePodGroupTemplates?: CompositePodGroupTemplate[];
}

export interface DisruptionMode {
  single?: SingleDisruptionMode;
  all?: AllDisruptionMode;
}

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

export interface PodGroupList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PodGroup[];
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
  parentCompositePodGroupName?: string;
  workloadRef?: WorkloadReference;
  schedulingPolicy: PodGroupSchedulingPolicy;
  schedulingConstraints?: PodGroupSchedulingConstraints;
  resourceClaims?: PodGroupResourceClaim[];
  disruptionMode?: DisruptionMode;
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
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
  disruptionMode?: DisruptionMode;
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
}

export type SingleCompositeDisruptionMode = unknown;

export type SingleDisruptionMode = unknown;

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

export type WorkloadCompositePodGroupAllDisruptionMode = unknown;

export type WorkloadCompositePodGroupBasicSchedulingPolicy = unknown;

export interface WorkloadCompositePodGroupDisruptionMode {
  single?: WorkloadCompositePodGroupSingleDisruptionMode;
  all?: WorkloadCompositePodGroupAllDisruptionMode;
}

export interface WorkloadCompositePodGroupGangSchedulingPolicy {
  minGroupCount?: number;
}

export interface WorkloadCompositePodGroupSchedulingConstraints {
  topology?: TopologyConstraint[];
}

export interface WorkloadCompositePodGroupSchedulingPolicy {
  basic?: WorkloadCompositePodGroupBasicSchedulingPolicy;
  gang?: WorkloadCompositePodGroupGangSchedulingPolicy;
}

export type WorkloadCompositePodGroupSingleDisruptionMode = unknown;

export interface WorkloadList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Workload[];
}

/** All pods of the group are disrupted at once. */
export type WorkloadPodGroupAllDisruptionMode = unknown;

/** Pods of the group are scheduled each on its own. */
export type WorkloadPodGroupBasicSchedulingPolicy = unknown;

/** How pods of a group are disrupted; exactly one field is set. */
export interface WorkloadPodGroupDisruptionMode {
  /** One by one. */
  single?: WorkloadPodGroupSingleDisruptionMode;
  /** All at once. */
  all?: WorkloadPodGroupAllDisruptionMode;
}

/** Pods of the group are scheduled together or not at all. */
export interface WorkloadPodGroupGangSchedulingPolicy {
  /** How many pods must fit at once. */
  minCount?: number;
}

/** A ResourceClaim that the pods of a group share. */
export interface WorkloadPodGroupResourceClaim {
  /** Name by which pods refer to it. */
  name: string;
  /** An existing ResourceClaim. */
  resourceClaimName?: string;
  /** A ResourceClaimTemplate, for a claim of the group's own. */
  resourceClaimTemplateName?: string;
}

/** Where pods of a group must be. */
export interface WorkloadPodGroupSchedulingConstraints {
  /** Labels of nodes whose value must be equal. */
  topology?: TopologyConstraint[];
}

/** How pods of a group are scheduled; exactly one field is set. */
export interface WorkloadPodGroupSchedulingPolicy {
  /** Each on its own. */
  basic?: WorkloadPodGroupBasicSchedulingPolicy;
  /** Together or not at all. */
  gang?: WorkloadPodGroupGangSchedulingPolicy;
}

/** Pods of the group are disrupted one by one. */
export type WorkloadPodGroupSingleDisruptionMode = unknown;

export interface WorkloadReference {
  workloadName: string;
  templateName: string;
}

export interface WorkloadSpec {
  controllerRef?: TypedLocalObjectReference;
  podGroupTemplates?: PodGroupTemplate[];
  compositePodGroupTemplates?: CompositePodGroupTemplate[];
}
