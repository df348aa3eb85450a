import type { Value } from "../../values/value.ts";
import type { Frame } from "../frame.ts";
import type { Node } from "../ir.ts";

/** A node that is ready to run. Errors are values; it throws only CostLimitExceeded, Panic and RangeError. */
export type Step = (frame: Frame) => Value;

/** Makes the step of a node. */
export type Plan = (node: Node) => Step;
