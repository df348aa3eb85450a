// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta, StoredMeta } from "../../objects/object.ts";
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

export interface CompositePodGroupSchedulingConstraints {
  topology?: TopologyConstraint[];
}

export interface CompositePodGroupSchedulingPolicy {
  basic?: CompositeBasicSchedulingPolicy;
  gang?: CompositeGangSchedulingPolicy;
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
  metadata: NamespacedMeta;
  spec: PodGroupSpec;
  status?: PodGroupStatus;
}

export const PodGroup: Kind<PodGroup> = {"group":"scheduling.k8s.io","version":"v1beta1","kind":"PodGroup","resource":"podgroups","namespaced":true};

export interface PodGroupList {
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

export interface PriorityClass {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  value?: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: string;
}

export const PriorityClass: Kind<PriorityClass> = {"group":"scheduling.k8s.io","version":"v1beta1","kind":"PriorityClass","resource":"priorityclasses","namespaced":false};

export interface PriorityClassList {
  metadata?: ListMeta;
  items: PriorityClass[];
}

export type SingleCompositeDisruptionMode = unknown;

export type SingleDisruptionMode = unknown;

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

export const Workload: Kind<Workload> = {"group":"scheduling.k8s.io","version":"v1beta1","kind":"Workload","resource":"workloads","namespaced":true};

export interface WorkloadList {
  metadata?: ListMeta;
  items: Workload[];
}

export interface WorkloadReference {
  workloadName: string;
  templateName: string;
}

export interface WorkloadSpec {
  controllerRef?: TypedLocalObjectReference;
  podGroupTemplates?: PodGroupTemplate[];
  compositePodGroupTemplates?: CompositePodGroupTemplate[];
}
