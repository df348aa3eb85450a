// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, NamespacedMeta, Time } from "../../objects/object.ts";
import type { ObjectReference, PodTemplateSpec } from "../core/v1.ts";
import type { LabelSelector, ListMeta, ObjectMeta } from "../meta/v1.ts";
import type { WorkloadPodGroupDisruptionMode, WorkloadPodGroupResourceClaim, WorkloadPodGroupSchedulingConstraints, WorkloadPodGroupSchedulingPolicy } from "../scheduling/v1alpha3.ts";

export interface CronJob {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: CronJobSpec;
  status?: CronJobStatus;
}

export const CronJob: Kind<CronJob> = {"group":"batch","version":"v1","kind":"CronJob","resource":"cronjobs","namespaced":true};

export interface CronJobList {
  metadata?: ListMeta;
  items: CronJob[];
}

export interface CronJobSpec {
  schedule: string;
  timeZone?: string;
  startingDeadlineSeconds?: Int64;
  concurrencyPolicy?: string;
  suspend?: boolean;
  jobTemplate: JobTemplateSpec;
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
}

export interface CronJobStatus {
  active?: ObjectReference[];
  lastScheduleTime?: Time;
  lastSuccessfulTime?: Time;
}

export interface Job {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: JobSpec;
  status?: JobStatus;
}

export const Job: Kind<Job> = {"group":"batch","version":"v1","kind":"Job","resource":"jobs","namespaced":true};

export interface JobCondition {
  type: string;
  status?: string;
  lastProbeTime?: Time;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
}

export interface JobList {
  metadata?: ListMeta;
  items: Job[];
}

export interface JobSchedulingConfiguration {
  schedulingPolicy?: WorkloadPodGroupSchedulingPolicy;
  schedulingConstraints?: WorkloadPodGroupSchedulingConstraints;
  disruptionMode?: WorkloadPodGroupDisruptionMode;
  resourceClaims?: WorkloadPodGroupResourceClaim[];
}

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  activeDeadlineSeconds?: Int64;
  podFailurePolicy?: PodFailurePolicy;
  successPolicy?: SuccessPolicy;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  selector?: LabelSelector;
  manualSelector?: boolean;
  template: PodTemplateSpec;
  ttlSecondsAfterFinished?: number;
  completionMode?: string;
  suspend?: boolean;
  podReplacementPolicy?: string;
  managedBy?: string;
  scheduling?: JobSchedulingConfiguration;
}

export interface JobStatus {
  conditions?: JobCondition[];
  startTime?: Time;
  completionTime?: Time;
  active?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  completedIndexes?: string;
  failedIndexes?: string;
  uncountedTerminatedPods?: UncountedTerminatedPods;
  ready?: number;
}

export interface JobTemplateSpec {
  metadata?: ObjectMeta;
  spec: JobSpec;
}

export interface PodFailurePolicy {
  rules: PodFailurePolicyRule[];
}

export interface PodFailurePolicyOnExitCodesRequirement {
  containerName?: string;
  operator: string;
  values: number[];
}

export interface PodFailurePolicyOnPodConditionsPattern {
  type: string;
  status?: string;
}

export interface PodFailurePolicyRule {
  action: string;
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
}

export interface SuccessPolicy {
  rules: SuccessPolicyRule[];
}

export interface SuccessPolicyRule {
  succeededIndexes?: string;
  succeededCount?: number;
}

export interface UncountedTerminatedPods {
  succeeded?: string[];
  failed?: string[];
}
