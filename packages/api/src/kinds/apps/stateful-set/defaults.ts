import type { StatefulSet } from "../../../generated/apps/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodTemplate } from "../../core/pod/defaults.ts";
import type { DefaultsContext } from "../../define.ts";
import { completed } from "../template-spec.ts";

/** Upstream: pkg/apis/apps/v1/defaults.go, SetDefaults_StatefulSet */
export function defaultStatefulSet(object: Wire<StatefulSet>, { release }: DefaultsContext): void {
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
