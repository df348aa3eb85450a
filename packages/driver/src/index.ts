export {
  type DescribedDevice,
  type DeviceMetadataUpdater,
  deviceMetadataUpdater,
} from "./claims/metadata.ts";
export { ParametersError } from "./claims/parameters.ts";
export {
  type ClaimRef,
  type ClaimStatusOptions,
  type ClaimStatusWriter,
  claimStatusWriter,
  type DeviceCondition,
  type DeviceRef,
  type DeviceStatus,
} from "./claims/status.ts";
export {
  type BindingConditionsOptions,
  type BindingDecision,
  setBindingConditions,
} from "./controller/binding.ts";
export type { Election } from "./controller/election.ts";
export { type FinalizeClaimsOptions, finalizeClaims, type ReleasedClaim } from "./controller/finalizer.ts";
export { NodePools, type NodePoolsOptions } from "./controller/node-pools.ts";
export { type PublishPoolsOptions, publishPools } from "./controller/publish-pools.ts";
export type { HealthcheckOptions } from "./plugin/healthcheck.ts";
export type { ClaimOperation, MetricsOptions } from "./plugin/metrics.ts";
export type { NodeAPI } from "./plugin/plugin.ts";
export { type RunOptions, runDriver } from "./run.ts";
export type { SliceStatistics } from "./slices/publisher.ts";
export { poolSlices, type SliceOwner } from "./slices/slices.ts";
export {
  type AllocatedClaim,
  type AllocatedDevice,
  type DeviceConfig,
  type DeviceEdits,
  type DeviceHealth,
  type DeviceMetadata,
  type Driver,
  type MetadataVersion,
  metadataVersions,
  type Pool,
  type PreparedClaim,
} from "./types/driver.ts";
export { DroppedFieldsError, type ErrorContext, type ErrorDecision, PoolError } from "./types/errors.ts";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./types/standard-schema.ts";
