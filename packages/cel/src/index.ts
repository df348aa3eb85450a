export { isAddress, isNetwork, isRequestUri } from "./checks.ts";
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
export { ForeignValue } from "./foreign-value.ts";
export { jsonValue } from "./json.ts";
export { LazyMap } from "./lazy.ts";
export {
  type AuthorizationCheck,
  type AuthorizationDecision,
  AuthorizerValue,
  authorizerType,
  type CheckAuthorization,
  ResourceCheckValue,
  resourceCheckType,
} from "./library/authorizer.ts";
export { calendarDay, parseDuration, parseTimestamp } from "./library/conversions.ts";
export { patternMatches, patternProblem } from "./library/regex.ts";
export { LiteralMap, StringMap } from "./maps.ts";
export { appliedObject, PatchValueError, patchOperations } from "./patch-values.ts";
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
