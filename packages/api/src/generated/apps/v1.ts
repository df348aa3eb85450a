// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, IntOrString, Kind, NamespacedMeta, Time } from "../../objects/object.ts";
import type { PersistentVolumeClaim, PodTemplateSpec } from "../core/v1.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

export interface ControllerRevision {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  data: unknown;
  revision?: Int64;
}

export const ControllerRevision: Kind<ControllerRevision> = {"group":"apps","version":"v1","kind":"ControllerRevision","resource":"controllerrevisions","namespaced":true};

export interface ControllerRevisionList {
  metadata?: ListMeta;
  items: ControllerRevision[];
}

export interface DaemonSet {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: DaemonSetSpec;
  status?: DaemonSetStatus;
}

export const DaemonSet: Kind<DaemonSet> = {"group":"apps","version":"v1","kind":"DaemonSet","resource":"daemonsets","namespaced":true};

export interface DaemonSetCondition {
  type?: string;
  status?: string;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
}

export interface DaemonSetList {
  metadata?: ListMeta;
  items: DaemonSet[];
}

export interface DaemonSetSpec {
  selector?: LabelSelector;
  template: PodTemplateSpec;
  updateStrategy?: DaemonSetUpdateStrategy;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
}

export interface DaemonSetStatus {
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  observedGeneration?: Int64;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
  conditions?: DaemonSetCondition[];
}

export interface DaemonSetUpdateStrategy {
  type?: string;
  rollingUpdate?: RollingUpdateDaemonSet;
}

export interface Deployment {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: DeploymentSpec;
  status?: DeploymentStatus;
}

export const Deployment: Kind<Deployment> = {"group":"apps","version":"v1","kind":"Deployment","resource":"deployments","namespaced":true};

export interface DeploymentCondition {
  type?: string;
  status?: string;
  lastUpdateTime?: Time;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
}

export interface DeploymentList {
  metadata?: ListMeta;
  items: Deployment[];
}

export interface DeploymentSpec {
  replicas?: number;
  selector?: LabelSelector;
  template: PodTemplateSpec;
  strategy?: DeploymentStrategy;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  paused?: boolean;
  progressDeadlineSeconds?: number;
}

export interface DeploymentStatus {
  observedGeneration?: Int64;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  terminatingReplicas?: number;
  conditions?: DeploymentCondition[];
  collisionCount?: number;
}

export interface DeploymentStrategy {
  type?: string;
  rollingUpdate?: RollingUpdateDeployment;
}

export interface ReplicaSet {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: ReplicaSetSpec;
  status?: ReplicaSetStatus;
}

export const ReplicaSet: Kind<ReplicaSet> = {"group":"apps","version":"v1","kind":"ReplicaSet","resource":"replicasets","namespaced":true};

export interface ReplicaSetCondition {
  type?: string;
  status?: string;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
}

export interface ReplicaSetList {
  metadata?: ListMeta;
  items: ReplicaSet[];
}

export interface ReplicaSetSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector?: LabelSelector;
  template?: PodTemplateSpec;
}

export interface ReplicaSetStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: Int64;
  conditions?: ReplicaSetCondition[];
}

export interface RollingUpdateDaemonSet {
  maxUnavailable?: IntOrString;
  maxSurge?: IntOrString;
}

export interface RollingUpdateDeployment {
  maxUnavailable?: IntOrString;
  maxSurge?: IntOrString;
}

export interface RollingUpdateStatefulSetStrategy {
  partition?: number;
  maxUnavailable?: IntOrString;
}

export interface StatefulSet {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: StatefulSetSpec;
  status?: StatefulSetStatus;
}

export const StatefulSet: Kind<StatefulSet> = {"group":"apps","version":"v1","kind":"StatefulSet","resource":"statefulsets","namespaced":true};

export interface StatefulSetCondition {
  type?: string;
  status?: string;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
}

export interface StatefulSetList {
  metadata?: ListMeta;
  items: StatefulSet[];
}

export interface StatefulSetOrdinals {
  start?: number;
}

export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  whenDeleted?: string;
  whenScaled?: string;
}

export interface StatefulSetSpec {
  replicas?: number;
  selector?: LabelSelector;
  template: PodTemplateSpec;
  volumeClaimTemplates?: PersistentVolumeClaim[];
  serviceName?: string;
  podManagementPolicy?: string;
  updateStrategy?: StatefulSetUpdateStrategy;
  revisionHistoryLimit?: number;
  minReadySeconds?: number;
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy;
  ordinals?: StatefulSetOrdinals;
}

export interface StatefulSetStatus {
  observedGeneration?: Int64;
  replicas: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
  conditions?: StatefulSetCondition[];
  availableReplicas?: number;
}

export interface StatefulSetUpdateStrategy {
  type?: string;
  rollingUpdate?: RollingUpdateStatefulSetStrategy;
}
