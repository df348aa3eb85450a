export type { Reads } from "./compile/reads.ts";
export type { Backend } from "./compile/runner.ts";
export { type DeviceInput, PreparedDevice } from "./device.ts";
export * from "./device-environment.ts";
export {
  type CompileFailure,
  costLimit,
  createEnvironment,
  type Environment,
  type EnvironmentOptions,
  type EvaluateOptions,
  type Program,
  type Result,
} from "./environment.ts";
export { equal } from "./equality.ts";
export { LiteralMap, StringMap } from "./maps.ts";
export * as types from "./types.ts";
export {
  CelError,
  Duration,
  MapValue,
  Optional,
  QuantityValue,
  SemverValue,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "./values.ts";
