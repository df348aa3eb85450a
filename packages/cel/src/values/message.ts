import type { CelType } from "./types.ts";
import { type CelError, LibraryValue, type Value } from "./value.ts";

/** A type with constructor expressions: `Name{field: value}`. */
export interface MessageType {
  readonly name: string;
  /** The type of a field; undefined if there is no such field. */
  field(name: string): CelType | undefined;
  /** Makes a value; returns CelError if a field does not fit. */
  make(fields: ReadonlyMap<string, Value>): Value;
}

export type FindMessage = (name: string) => MessageType | undefined;

/** A value of a message type. Values of two message types are comparable, and never equal. */
export abstract class MessageValue extends LibraryValue {
  /** Selects a field; undefined is "no such key". `declared`: the checker knows the type of the operand. */
  abstract select(field: string, declared: boolean): Value | undefined;
  /** Whether `optional.ofNonZeroValue` gives none. */
  readonly isZero: boolean = false;
  /** Whether the field is set, for `has()` and optional selection; an error if the type has no such field. */
  abstract isSet(field: string, declared: boolean): boolean | CelError;
}
