// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, NamespacedMeta, Time } from "../../../objects/object.ts";
import type { ObjectReference, PodTemplateSpec } from "../core/v1.ts";
import type { LabelSelector, ListMeta, ObjectMeta } from "../meta/v1.ts";
import type { WorkloadPodGroupDisruptionMode, WorkloadPodGroupResourceClaim, WorkloadPodGroupSchedulingConstraints, WorkloadPodGroupSchedulingPolicy } from "../scheduling/v1alpha3.ts";

/** Creates jobs at certain times. */
export interface CronJob {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** When, and which job. */
  spec: CronJobSpec;
  /** When it last ran. */
  status?: CronJobStatus;
}

export interface CronJobList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: CronJob[];
}

/** When, and which job. */
export interface CronJobSpec {
  /** The times, in cron's format: minute, hour, day, month, day of the week. */
  schedule: string;
  /** Time zone, such as Europe/Berlin. Default: that of the controller manager. */
  timeZone?: string;
  /** How many seconds late a job may still be started. */
  startingDeadlineSeconds?: Int64;
  /** Allow (default), Forbid or Replace: what happens if the last job still runs. */
  concurrencyPolicy?: string;
  /** True: no new jobs. */
  suspend?: boolean;
  /** The job. */
  jobTemplate: JobTemplateSpec;
  /** How many succeeded jobs are kept. Default 3. */
  successfulJobsHistoryLimit?: number;
  /** How many failed jobs are kept. Default 1. */
  failedJobsHistoryLimit?: number;
}

/** When a CronJob last ran. */
export interface CronJobStatus {
  /** Jobs that run. */
  active?: ObjectReference[];
  /** When a job was last started. */
  lastScheduleTime?: Time;
  /** When a job last succeeded. */
  lastSuccessfulTime?: Time;
}

/** Runs pods until a number of them has succeeded. */
export interface Job {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Template of the pods, their number, and the handling of failures. */
  spec: JobSpec;
  /** How far it is. */
  status?: JobStatus;
}

/** An observation of a job. */
export interface JobCondition {
  /** Type of the condition, in CamelCase; there is at most one of a type. */
  type: string;
  /** True, False or Unknown. */
  status?: string;
  /** When the condition was last checked. */
  lastProbeTime?: Time;
  /** When the status last changed. */
  lastTransitionTime?: Time;
  /** Why, in one CamelCase word. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export interface JobList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Job[];
}

/** How the pods of a job are scheduled together. */
export interface JobSchedulingConfiguration {
  /** Each on its own, or as a gang. */
  schedulingPolicy?: WorkloadPodGroupSchedulingPolicy;
  /** Where the pods must be. */
  schedulingConstraints?: WorkloadPodGroupSchedulingConstraints;
  /** Whether pods are disrupted one by one or all at once. */
  disruptionMode?: WorkloadPodGroupDisruptionMode;
  /** ResourceClaims that the pods share. */
  resourceClaims?: WorkloadPodGroupResourceClaim[];
}

/** Template of the pods, their number, and the handling of failures. */
export interface JobSpec {
  /** How many pods may run at once. Default 1. */
  parallelism?: number;
  /** How many pods must succeed. Default 1, or parallelism if that is set. */
  completions?: number;
  /** Seconds after which the job has failed. */
  activeDeadlineSeconds?: Int64;
  /** Rules for the failures of pods. */
  podFailurePolicy?: PodFailurePolicy;
  /** When the job has succeeded before all pods have. */
  successPolicy?: SuccessPolicy;
  /** How many pods may fail. Default 6. */
  backoffLimit?: number;
  /** How many pods of one index may fail. Only for Indexed. */
  backoffLimitPerIndex?: number;
  /** How many indexes may fail. Only with backoffLimitPerIndex. */
  maxFailedIndexes?: number;
  /** Selects the pods. Made by the server. */
  selector?: LabelSelector;
  /** True: the selector is given, not made. */
  manualSelector?: boolean;
  /** The pod. Its restartPolicy is Never or OnFailure. */
  template: PodTemplateSpec;
  /** Seconds after which a finished job is deleted. Unset: never. */
  ttlSecondsAfterFinished?: number;
  /** NonIndexed (default), or Indexed: each pod has a number. */
  completionMode?: string;
  /** True: no pods run. */
  suspend?: boolean;
  /** TerminatingOrFailed (default) or Failed: when a pod is replaced. */
  podReplacementPolicy?: string;
  /** Controller that runs the job instead of the usual one. */
  managedBy?: string;
  /** How the pods are scheduled together. */
  scheduling?: JobSchedulingConfiguration;
}

/** How far a job is. */
export interface JobStatus {
  /** Complete, Failed, Suspended and others. */
  conditions?: JobCondition[];
  /** When it was started. */
  startTime?: Time;
  /** When it succeeded. */
  completionTime?: Time;
  /** Pods that are pending or running. */
  active?: number;
  /** Pods that have succeeded. */
  succeeded?: number;
  /** Pods that have failed. */
  failed?: number;
  /** Pods that are terminating. */
  terminating?: number;
  /** Indexes that have succeeded, such as 1,3-5. */
  completedIndexes?: string;
  /** Indexes that have failed, such as 1,3-5. */
  failedIndexes?: string;
  /** Finished pods that are not counted yet. */
  uncountedTerminatedPods?: UncountedTerminatedPods;
  /** Pods that are ready. */
  ready?: number;
}

/** The job that a CronJob makes copies of. */
export interface JobTemplateSpec {
  /** Labels and annotations of the jobs. */
  metadata?: ObjectMeta;
  /** Spec of the jobs. */
  spec: JobSpec;
}

/** Rules for the failures of pods. */
export interface PodFailurePolicy {
  /** The first rule that matches decides. */
  rules: PodFailurePolicyRule[];
}

/** Matches exit codes of containers. */
export interface PodFailurePolicyOnExitCodesRequirement {
  /** Name of the container. Default: any. */
  containerName?: string;
  /** In or NotIn. */
  operator: string;
  /** The exit codes. */
  values: number[];
}

/** Matches a condition of a pod. */
export interface PodFailurePolicyOnPodConditionsPattern {
  /** Type of the condition. */
  type: string;
  /** Status of the condition. Default True. */
  status?: string;
}

/** Action for failures that match. */
export interface PodFailurePolicyRule {
  /** FailJob, FailIndex, Ignore or Count. */
  action: string;
  /** Matches exit codes. */
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  /** Matches conditions of the pod. */
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
}

/** When a job has succeeded. */
export interface SuccessPolicy {
  /** The job has succeeded once one rule is met. */
  rules: SuccessPolicyRule[];
}

/** When a job has succeeded; at least one field is set. */
export interface SuccessPolicyRule {
  /** Indexes that must have succeeded, such as 0,2-3. */
  succeededIndexes?: string;
  /** How many indexes must have succeeded. */
  succeededCount?: number;
}

/** Finished pods that are not counted yet. */
export interface UncountedTerminatedPods {
  /** UIDs of pods that have succeeded. */
  succeeded?: string[];
  /** UIDs of pods that have failed. */
  failed?: string[];
}
