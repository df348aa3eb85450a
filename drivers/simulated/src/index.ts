export type {
  Behaviour,
  Fleet,
  FleetDevice,
  FleetDriver,
  FleetNode,
  FleetPool,
  Health,
  HealthChange,
  PoolReach,
} from "./fleet/fleet.ts";
export type { ProfileChoice } from "./fleet/profile-choice.ts";
export { type ReadFleetOptions, readFleet } from "./fleet/read.ts";
export {
  type DeviceRef,
  type HealthRecord,
  healthConfigMap,
  healthLabel,
  healthNamespace,
  healthRecordName,
  readHealthConfigMap,
} from "./simulation/health.ts";
export { type FleetObjects, fleetObjects } from "./simulation/objects.ts";
export { runSimulation, type SimulatedNode, type SimulationOptions } from "./simulation/run.ts";
export { type FleetSource, fleetVersion } from "./source/documents.ts";
export { FleetError, type FleetProblem } from "./source/value.ts";
