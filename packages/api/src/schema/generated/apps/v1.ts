// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, IntOrString, NamespacedMeta, Time } from "../../../objects/object.ts";
import type { PersistentVolumeClaim, PodTemplateSpec } from "../core/v1.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

/** A former template of a DaemonSet or StatefulSet, kept for a rollback. */
export interface ControllerRevision {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** The template. */
  data: unknown;
  /** Number of the revision. */
  revision?: Int64;
}

export interface ControllerRevisionList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ControllerRevision[];
}

/** Runs one pod on each node, or on those that the pod selects. */
export interface DaemonSet {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Selector and template of the pod, and the update strategy. */
  spec: DaemonSetSpec;
  /** On how many nodes the pods run. */
  status?: DaemonSetStatus;
}

/** An observation of a DaemonSet. */
export interface DaemonSetCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type?: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface DaemonSetList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: DaemonSet[];
}

/** Selector and template of the pod, and the update strategy. */
export interface DaemonSetSpec {
  /** Selects the pods; must match the labels of the template. Cannot change. */
  selector?: LabelSelector;
  /** The pod to run on each node. Its node selector and affinity choose the nodes. */
  template: PodTemplateSpec;
  /** How old pods are replaced. */
  updateStrategy?: DaemonSetUpdateStrategy;
  /** Seconds that a pod must be ready to count as available. Default 0. */
  minReadySeconds?: number;
  /** How many old revisions are kept for a rollback. Default 10. */
  revisionHistoryLimit?: number;
}

/** On how many nodes the pods run. */
export interface DaemonSetStatus {
  /** Nodes that run the pod and are to. */
  currentNumberScheduled: number;
  /** Nodes that run the pod and are not to. */
  numberMisscheduled: number;
  /** Nodes that are to run the pod. */
  desiredNumberScheduled: number;
  /** Nodes whose pod is ready. */
  numberReady: number;
  /** metadata.generation that this status is about. */
  observedGeneration?: Int64;
  /** Nodes whose pod is of the present template. */
  updatedNumberScheduled?: number;
  /** Nodes whose pod has been ready for minReadySeconds. */
  numberAvailable?: number;
  /** Nodes without an available pod. */
  numberUnavailable?: number;
  /** Counts clashes of revision names. */
  collisionCount?: number;
  /** Latest observations, at most one of a type. */
  conditions?: DaemonSetCondition[];
}

/** How old pods are replaced. */
export interface DaemonSetUpdateStrategy {
  /** RollingUpdate (default), or OnDelete: when somebody deletes them. */
  type?: string;
  /** Settings of RollingUpdate. */
  rollingUpdate?: RollingUpdateDaemonSet;
}

/** Keeps a number of equal pods running and rolls out changes of their template. */
export interface Deployment {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** How many pods, which, and how they are replaced. */
  spec: DeploymentSpec;
  /** How many pods there are, and of which template. */
  status?: DeploymentStatus;
}

/** An observation of a Deployment. */
export interface DeploymentCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type?: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the condition was last written. */
  lastUpdateTime?: Time;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface DeploymentList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Deployment[];
}

/** How many pods, which, and how they are replaced. */
export interface DeploymentSpec {
  /** How many pods. Default 1. */
  replicas?: number;
  /** Selects the pods; must match the labels of the template. Cannot change. */
  selector?: LabelSelector;
  /** The pod to make copies of. A change rolls out new pods. */
  template: PodTemplateSpec;
  /** How old pods are replaced. */
  strategy?: DeploymentStrategy;
  /** Seconds that a pod must be ready to count as available. Default 0. */
  minReadySeconds?: number;
  /** How many old ReplicaSets are kept for a rollback. Default 10. */
  revisionHistoryLimit?: number;
  /** True: changes of the template are not rolled out. */
  paused?: boolean;
  /** Seconds without progress after which the condition Progressing is False. Default 600. */
  progressDeadlineSeconds?: number;
}

/** How many pods a Deployment has. */
export interface DeploymentStatus {
  /** metadata.generation that this status is about. */
  observedGeneration?: Int64;
  /** Pods that are not terminating. */
  replicas?: number;
  /** Pods of the present template. */
  updatedReplicas?: number;
  /** Pods that are ready. */
  readyReplicas?: number;
  /** Pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
  /** Pods that are still missing. */
  unavailableReplicas?: number;
  /** Pods that are terminating. */
  terminatingReplicas?: number;
  /** Available, Progressing and ReplicaFailure. */
  conditions?: DeploymentCondition[];
  /** Counts clashes of ReplicaSet names. */
  collisionCount?: number;
}

/** How old pods are replaced. */
export interface DeploymentStrategy {
  /** RollingUpdate (default), or Recreate: all old pods end first. */
  type?: string;
  /** Settings of RollingUpdate. */
  rollingUpdate?: RollingUpdateDeployment;
}

/** Keeps a number of equal pods running. Usually made by a Deployment. */
export interface ReplicaSet {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** How many pods, and which. */
  spec: ReplicaSetSpec;
  /** How many pods there are. */
  status?: ReplicaSetStatus;
}

/** An observation of a ReplicaSet. */
export interface ReplicaSetCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type?: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface ReplicaSetList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ReplicaSet[];
}

/** How many pods, and which. */
export interface ReplicaSetSpec {
  /** How many pods. Default 1. */
  replicas?: number;
  /** Seconds that a pod must be ready to count as available. Default 0. */
  minReadySeconds?: number;
  /** Selects the pods; must match the labels of the template. Cannot change. */
  selector?: LabelSelector;
  /** The pod to make copies of. A change has no effect on pods that exist. */
  template?: PodTemplateSpec;
}

/** How many pods there are. */
export interface ReplicaSetStatus {
  /** Pods that are not terminating. */
  replicas: number;
  /** Pods that have all labels of the template. */
  fullyLabeledReplicas?: number;
  /** Pods that are ready. */
  readyReplicas?: number;
  /** Pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
  /** Pods that are terminating. */
  terminatingReplicas?: number;
  /** metadata.generation that this status is about. */
  observedGeneration?: Int64;
  /** ReplicaFailure: pods could not be created or deleted. */
  conditions?: ReplicaSetCondition[];
}

/** How fast pods are replaced. Numbers or percentages of the nodes. */
export interface RollingUpdateDaemonSet {
  /** On how many nodes the pod may be missing. Default 1. */
  maxUnavailable?: IntOrString;
  /** How many nodes may have old and new pod at once. Default 0. */
  maxSurge?: IntOrString;
}

/** How fast pods are replaced. Numbers or percentages of replicas. */
export interface RollingUpdateDeployment {
  /** How many pods may be missing. Default 25%. */
  maxUnavailable?: IntOrString;
  /** How many pods may be there beyond replicas. Default 25%. */
  maxSurge?: IntOrString;
}

/** Update strategy: which pods are replaced, and how fast. */
export interface RollingUpdateStatefulSetStrategy {
  /** Only pods with this number or a higher one are replaced. Default 0. */
  partition?: number;
  /** How many pods may be missing. Default 1. */
  maxUnavailable?: IntOrString;
}

/** Runs pods that each have a name, and storage, of their own that last. */
export interface StatefulSet {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** How many pods, which, and with what storage. */
  spec: StatefulSetSpec;
  /** How many pods there are, and of which revision. */
  status?: StatefulSetStatus;
}

/** An observation of a StatefulSet. */
export interface StatefulSetCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type?: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface StatefulSetList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: StatefulSet[];
}

/** Numbers of the pods. */
export interface StatefulSetOrdinals {
  /** Number of the first pod. Default 0. */
  start?: number;
}

/** Whether claims go with their pods. */
export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  /** Retain (default) or Delete: when the StatefulSet is deleted. */
  whenDeleted?: string;
  /** Retain (default) or Delete: when it is scaled down. */
  whenScaled?: string;
}

/** How many pods, which, and with what storage. */
export interface StatefulSetSpec {
  /** How many pods. Default 1. */
  replicas?: number;
  /** Selects the pods; must match the labels of the template. Cannot change. */
  selector?: LabelSelector;
  /** The pod. Pods are named NAME-0, NAME-1 and so on. */
  template: PodTemplateSpec;
  /** PersistentVolumeClaims that each pod has of its own. */
  volumeClaimTemplates?: PersistentVolumeClaim[];
  /** Headless Service that names the pods in DNS. */
  serviceName?: string;
  /** OrderedReady (default): one after another; Parallel: all at once. */
  podManagementPolicy?: string;
  /** How old pods are replaced. */
  updateStrategy?: StatefulSetUpdateStrategy;
  /** How many old revisions are kept for a rollback. Default 10. */
  revisionHistoryLimit?: number;
  /** Seconds that a pod must be ready to count as available. Default 0. */
  minReadySeconds?: number;
  /** Whether the claims go with the pods. */
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy;
  /** Numbers of the pods. */
  ordinals?: StatefulSetOrdinals;
}

/** How many pods a StatefulSet has. */
export interface StatefulSetStatus {
  /** metadata.generation that this status is about. */
  observedGeneration?: Int64;
  /** Pods that were created. */
  replicas: number;
  /** Pods that are ready. */
  readyReplicas?: number;
  /** Pods of the old revision. */
  currentReplicas?: number;
  /** Pods of the new revision. */
  updatedReplicas?: number;
  /** The revision that pods are updated from. */
  currentRevision?: string;
  /** The revision that pods are updated to. */
  updateRevision?: string;
  /** Counts clashes of revision names. */
  collisionCount?: number;
  /** Latest observations, at most one of a type. */
  conditions?: StatefulSetCondition[];
  /** Pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
}

/** How old pods are replaced. */
export interface StatefulSetUpdateStrategy {
  /** RollingUpdate (default), or OnDelete: when somebody deletes them. */
  type?: string;
  /** Settings of RollingUpdate. */
  rollingUpdate?: RollingUpdateStatefulSetStrategy;
}
