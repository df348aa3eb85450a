import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../generated/apps/v1.ts";
import type { PodTemplateSpec } from "../generated/core/v1.ts";
import { defaultPodTemplate } from "./pod.ts";

/** The API's structs always have a spec and a template: an object that was written without them gets their defaults. */
function completed<S extends { template?: PodTemplateSpec }>(object: { spec?: S }): S {
  const spec = object.spec ?? ({} as S);
  object.spec = spec;
  spec.template ??= { spec: { containers: [] } };
  return spec;
}

export function defaultDeployment(object: Deployment): void {
  const spec = completed(object);
  spec.replicas ??= 1;
  spec.strategy ??= {};
  spec.strategy.type ||= "RollingUpdate";
  if (spec.strategy.type === "RollingUpdate") {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
    spec.strategy.rollingUpdate.maxSurge ??= "25%";
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  defaultPodTemplate(spec.template);
}

export function defaultDaemonSet(object: DaemonSet): void {
  const spec = completed(object);
  spec.updateStrategy ??= {};
  spec.updateStrategy.type ||= "RollingUpdate";
  if (spec.updateStrategy.type === "RollingUpdate") {
    spec.updateStrategy.rollingUpdate ??= {};
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
}

export function defaultReplicaSet(object: ReplicaSet): void {
  const spec = completed(object);
  spec.replicas ??= 1;
  defaultPodTemplate(spec.template);
}

/** Upstream: pkg/apis/apps/v1/defaults.go, SetDefaults_StatefulSet */
export function defaultStatefulSet(object: StatefulSet, _now: string, release: string): void {
  const spec = completed(object);
  spec.podManagementPolicy ||= "OrderedReady";
  spec.updateStrategy ??= {};
  const { updateStrategy } = spec;
  if (!updateStrategy.type) {
    updateStrategy.type = "RollingUpdate";
    updateStrategy.rollingUpdate ??= {};
  }
  if (updateStrategy.type === "RollingUpdate" && updateStrategy.rollingUpdate) {
    updateStrategy.rollingUpdate.partition ??= 0;
    // MaxUnavailableStatefulSet
    if (release >= "1.37") updateStrategy.rollingUpdate.maxUnavailable ??= 1;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion ||= "v1";
    claim.kind ||= "PersistentVolumeClaim";
    claim.spec ??= {};
    claim.spec.volumeMode ??= "Filesystem";
    claim.status ??= {};
    claim.status.phase ||= "Pending";
  }
}
