export { Provenance } from "./codec/provenance.ts";
export {
  type FieldError,
  type FieldErrorType,
  fieldErrorText,
  fieldErrorTypes,
} from "./errors/field-error.ts";
export { invalid, maxErrorText } from "./errors/invalid.ts";
export { StatusError, type StatusReason, statusCodes } from "./errors/status-error.ts";
export * from "./features/features.ts";
export { canonicalJSON, decodeJSON, encodeJSON } from "./json/json.ts";
export { deepFreeze } from "./objects/deep-freeze.ts";
export * from "./objects/object.ts";
export { assertKubeObject, type Wire } from "./objects/wire.ts";
export * from "./selectors/index.ts";
export * from "./selectors/node-fit.ts";
export { codePointOf } from "./text/code-point.ts";
export { floatText } from "./text/float-text.ts";
export { goEscapes, quoted, quotedBytes, quotedTime } from "./text/quoted.ts";
export { DurationError, durationText, parseDuration } from "./values/duration.ts";
export { humanDuration } from "./values/human-duration.ts";
export * from "./values/names.ts";
export { canonicalQuantity, Quantity, QuantityError, type QuantityFormat } from "./values/quantity.ts";
export { parseSchedule, type Schedule, ScheduleError, type ScheduleField } from "./values/schedule.ts";
export {
  compareSemanticVersions,
  isSemanticVersion,
  parseSemanticVersion,
  type SemanticVersion,
  semanticVersionText,
} from "./values/semver.ts";
export { microTimeText, timeText } from "./values/time.ts";
