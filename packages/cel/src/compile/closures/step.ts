import type { Value } from "../../values/value.ts";
import type { Frame } from "../frame.ts";

/** One node, ready to run. Errors are values; only CostLimitExceeded is thrown. */
export type Step = (frame: Frame) => Value;
