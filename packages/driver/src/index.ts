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
export { DroppedFieldsError, type ErrorContext, type ErrorDecision, PoolError } from "./errors.ts";
export type { HealthcheckOptions } from "./healthcheck.ts";
export { type RunOptions, runDriver } from "./run.ts";
