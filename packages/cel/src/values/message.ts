import type { CelType } from "./types.ts";
import { type CelError, LibraryValue, type Value } from "./value.ts";

/** A type with constructor expressions: `Name{field: value}`. */
export interface MessageType {
  readonly name: string;
  /** The type of a field; undefined for an unknown field. */
  field(name: string): CelType | undefined;
  /** Makes a value; returns a CelError for an invalid field. */
  make(fields: ReadonlyMap<string, Value>): Value;
}

export type FindMessage = (name: string) => MessageType | undefined;

/** A value of a message type. Values of two message types are comparable, and never equal. */
export abstract class MessageValue extends LibraryValue {
  /** Selects a field; undefined if it is missing. `declared`: the checker knows the type of the operand. */
  abstract select(field: string, declared: boolean): Value | undefined;
  /** The value is the zero value of its type for `optional.ofNonZeroValue`. */
  readonly isZero: boolean = false;
  /** Whether the field is set, for `has()` and optional selection; an error if the type has no such field. */
  abstract isSet(field: string, declared: boolean): boolean | CelError;
}
