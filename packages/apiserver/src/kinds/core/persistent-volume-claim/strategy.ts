import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from "@dray/api/core/v1";
import type { Strategy } from "../../strategy.ts";

/**
 * Drops sources that no provisioner supports: the newer field has no other namespace, the older, where it
 * stands alone, knows claims and snapshots only (EnforceDataSourceBackwardsCompatibility).
 */
function dropUnknownSources(spec: PersistentVolumeClaimSpec): void {
  if (spec.dataSourceRef?.namespace) delete spec.dataSourceRef;
  const { dataSource } = spec;
  if (spec.dataSourceRef) return;
  const isClaim = dataSource?.kind === "PersistentVolumeClaim" && !dataSource.apiGroup;
  const isSnapshot =
    dataSource?.kind === "VolumeSnapshot" && dataSource.apiGroup === "snapshot.storage.k8s.io";
  if (!isClaim && !isSnapshot) delete spec.dataSource;
}

/** Both fields say the same. */
function alignSources(spec: PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _own, ...local } = dataSourceRef;
    spec.dataSource = local;
  }
}

export const persistentVolumeClaimStrategy: Strategy<PersistentVolumeClaim> = {
  prepareForCreate(claim) {
    claim.status = { phase: "Pending" };
    if (!claim.spec) return;
    dropUnknownSources(claim.spec);
    alignSources(claim.spec);
  },

  prepareForUpdate(claim, before, context) {
    const used = before.spec?.dataSource ?? before.spec?.dataSourceRef;
    if (context.subresource !== "" || !claim.spec) return;
    if (!used) dropUnknownSources(claim.spec);
    alignSources(claim.spec);
  },
};
