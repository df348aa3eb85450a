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
export type { HealthcheckOptions } from "./healthcheck.ts";
export { type RunOptions, runDriver } from "./run.ts";
