export { type BindingConditionsOptions, type BindingDecision, setBindingConditions } from "./binding.ts";
export {
  type ClaimRef,
  type ClaimStatusOptions,
  type ClaimStatusWriter,
  claimStatusWriter,
  type DeviceCondition,
  type DeviceRef,
  type DeviceStatus,
} from "./claim-status.ts";
export type {
  AllocatedClaim,
  AllocatedDevice,
  DeviceConfig,
  DeviceEdits,
  DeviceHealth,
  Driver,
  Pool,
  PreparedClaim,
} from "./driver.ts";
export type { Election } from "./election.ts";
export { DroppedFieldsError, type ErrorContext, type ErrorDecision, PoolError } from "./errors.ts";
export { type FinalizeClaimsOptions, finalizeClaims, type ReleasedClaim } from "./finalizer.ts";
export type { HealthcheckOptions } from "./healthcheck.ts";
export {
  type DescribedDevice,
  type DeviceMetadata,
  type DeviceMetadataUpdater,
  deviceMetadataUpdater,
  type MetadataVersion,
  metadataVersions,
} from "./metadata.ts";
export type { ClaimOperation, MetricsOptions } from "./metrics.ts";
export { NodePools, type NodePoolsOptions } from "./node-pools.ts";
export { ParametersError, type SchemaIssue, type SchemaResult, type StandardSchema } from "./parameters.ts";
export type { NodeAPI } from "./plugin.ts";
export { type PublishPoolsOptions, publishPools } from "./publish-pools.ts";
export type { SliceStatistics } from "./publisher.ts";
export { type RunOptions, runDriver } from "./run.ts";
export type { SliceOwner } from "./slices.ts";
