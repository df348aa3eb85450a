export type { Backend } from "./compile/backend.ts";
export type { Reads } from "./compile/reads.ts";
export { type DeviceInput, PreparedDevice } from "./device/prepared-device.ts";
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
export {
  type AuthorizationCheck,
  type AuthorizationDecision,
  AuthorizerValue,
  authorizerType,
  type CheckAuthorization,
  ResourceCheckValue,
  resourceCheckType,
} from "./library/authorizer.ts";
export { ForeignValue } from "./library/patch/foreign-value.ts";
export { appliedObject, PatchValueError, patchOperations } from "./library/patch/result.ts";
export { compilePattern, type Pattern, patternProblem, patternWork } from "./library/regex/pattern.ts";
export { isAddress, isNetwork, isRequestUri } from "./library/text-checks.ts";
export { equal } from "./values/equality.ts";
export { escapeFieldName, unescapeFieldName } from "./values/field-names.ts";
export { jsonValue } from "./values/json-value.ts";
export { LazyMap } from "./values/lazy-map.ts";
export { LiteralMap, StringMap } from "./values/maps.ts";
export { calendarDay, parseDuration, parseTimestamp } from "./values/time.ts";
export * as types from "./values/types.ts";
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
} from "./values/value.ts";
