import type { FieldType } from "../../schema/types.ts";
import type { Findings } from "./findings.ts";

/**
 * Reads a value as one type, in the form in which the API server writes it; undefined if it counts as unset.
 * Faults go to `findings`. `known` is the part of a known object in the same place, `literal` the text of a
 * number where the number does not tell it (`1.0`). Null is read by unions only. Throws DecodeError where
 * Go's message names no place.
 */
export type Read = (
  value: unknown,
  findings: Findings,
  known: unknown,
  literal: string | undefined,
) => unknown;

/** Gives the reader of a type. */
export type ReaderOf = (type: FieldType) => Read;

/** A union of a boolean refuses null where it is not a pointer. */
export function readsNull(type: FieldType): boolean {
  return type.form === "struct" && type.struct.alternatives !== undefined;
}
