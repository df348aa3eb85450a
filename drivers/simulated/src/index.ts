export { type FleetSource, fleetVersion } from "./fleet/documents.ts";
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
export { type ReadFleetOptions, readFleet } from "./fleet/read.ts";
export { FleetError, type FleetProblem } from "./fleet/value.ts";
export {
  type DeviceRef,
  type HealthRecord,
  healthConfigMap,
  healthLabel,
  healthNamespace,
  healthRecordName,
  readHealthConfigMap,
} from "./health.ts";
export type { ProfileChoice } from "./profiles/choice.ts";
export { runSimulation, type SimulatedNode, type SimulationOptions } from "./run.ts";
