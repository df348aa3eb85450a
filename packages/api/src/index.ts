export { cameEmpty, keepEmpty, noteEmpty, withEmpty } from "./codec/empty.ts";
export { DurationError, durationText, parseDuration } from "./duration.ts";
export * from "./errors.ts";
export * from "./features.ts";
export { floatText } from "./float-text.ts";
export { humanDuration } from "./human-duration.ts";
export { canonicalJSON, decodeJSON, deepFreeze, encodeJSON } from "./json.ts";
export * from "./names.ts";
export * from "./node-fit.ts";
export * from "./object.ts";
export { canonicalQuantity, Quantity, QuantityError, type QuantityFormat } from "./quantity.ts";
export { goEscapes, quoted, quotedBytes, quotedTime } from "./quoted.ts";
export { parseSchedule, type Schedule, ScheduleError, type ScheduleField } from "./schedule.ts";
export * from "./selectors/index.ts";
export {
  compareSemanticVersions,
  isSemanticVersion,
  parseSemanticVersion,
  type SemanticVersion,
  semanticVersionText,
} from "./semver.ts";
export { microTimeText, timeText } from "./time.ts";
