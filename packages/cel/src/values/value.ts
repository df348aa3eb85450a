import type { Quantity, SemanticVersion } from "@dray/api";
import type { Amount } from "./amount.ts";
import type { ElementBudget } from "./element-budget.ts";
import { textLength } from "./text.ts";
import type { CelType } from "./types.ts";

/** An unsigned 64-bit integer; a bigint is an int. */
export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Timestamp {
  /** Since the Unix epoch. */
  readonly nanoseconds: bigint;
  /** Minutes east of UTC in the text that it was parsed from. Only its own text depends on it. */
  readonly offset: number;
  constructor(nanoseconds: bigint, offset = 0) {
    this.nanoseconds = nanoseconds;
    this.offset = offset;
  }
}

export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
  static readonly none = new Optional(undefined);
}

/**
 * A quantity. In Go the result of arithmetic has another type than a parsed quantity, which matters for
 * equality.
 */
export class QuantityValue {
  readonly quantity: Quantity;
  /** The text that was parsed, or the result of arithmetic. */
  readonly source: string | Amount;
  constructor(quantity: Quantity, source: string | Amount) {
    this.quantity = quantity;
    this.source = source;
  }
  get computed(): boolean {
    return typeof this.source !== "string";
  }
}

export class SemverValue {
  readonly version: SemanticVersion;
  constructor(version: SemanticVersion) {
    this.version = version;
  }
}

/** A value whose type belongs to a library: addresses, URLs, formats. */
export abstract class LibraryValue {
  /** The name of its type at run time: `net.IP`. */
  abstract readonly typeName: string;
  /** Called with a value of the same class. */
  abstract equals(other: this, budget: ElementBudget): boolean;
  /**
   * Values with the same identity are the same map key. In Go each object of most types is a key of its own.
   */
  get identity(): unknown {
    return this;
  }
  /** The size for cost rules. */
  get size(): number {
    return 1;
  }
}

/** A run-time error. It is a value, so that `&&` and `||` can absorb it. */
export class CelError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** Stands for a panic in Go: the evaluation ends with its error, and no operator absorbs it. */
export class Panic extends Error {
  readonly error: CelError;
  constructor(error: CelError) {
    super(error.message);
    this.error = error;
  }
}

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | QuantityValue
  | SemverValue
  | LibraryValue
  | readonly Value[]
  | MapValue
  | CelError;

/** A map. Keys of different types are different, except for numbers: equal numbers find each other. */
export abstract class MapValue {
  abstract find(key: Value): Value | undefined;
  abstract has(key: Value): boolean;
  abstract keys(): Iterable<Value>;
  abstract readonly size: number;

  /** The keys with their values. */
  *entries(): Generator<readonly [key: Value, value: Value]> {
    // Each of the keys has a value.
    for (const key of this.keys()) yield [key, this.find(key)!];
  }

  /** Compares what `keys` leaves out, for maps that hold more than expressions see. */
  equalUnseen(_other: MapValue): boolean {
    return true;
  }
}

/** The name of a value's type at run time. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
  }
  if (value === null) return "null_type";
  if (Array.isArray(value)) return "list";
  if (value instanceof MapValue) return "map";
  if (value instanceof Uint) return "uint";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof TypeValue) return "type";
  if (value instanceof Optional) return "optional_type";
  if (value instanceof QuantityValue) return "kubernetes.Quantity";
  if (value instanceof SemverValue) return "kubernetes.Semver";
  if (value instanceof LibraryValue) return value.typeName;
  return "error";
}

/**
 * Reports whether a value can be passed where a type is declared. It checks only the first entry of lists and
 * maps.
 */
export function isOfType(value: Value, type: CelType): boolean {
  switch (type.kind) {
    case "dyn":
    case "any":
    case "param":
      return true;
    case "list":
      return Array.isArray(value) && (value.length === 0 || isOfType(value[0]!, type.params[0]!));
    case "map": {
      if (!(value instanceof MapValue)) return false;
      for (const [key, inner] of value.entries()) {
        return isOfType(key, type.params[0]!) && isOfType(inner, type.params[1]!);
      }
      return true;
    }
    default:
      return typeName(value) === type.name;
  }
}

export const noSuchOverload = new CelError("no such overload");
export const integerOverflow = new CelError("integer overflow");
export const unsignedOverflow = new CelError("unsigned integer overflow");

/** The size of a value for cost rules: code points, bytes, elements; 1 for all other values. */
export function costSize(value: Value): number {
  if (typeof value === "string") return textLength(value);
  if (Array.isArray(value)) return value.length;
  if (value instanceof MapValue) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Optional) return value.value === undefined ? 1 : costSize(value.value);
  return value instanceof LibraryValue ? value.size : 1;
}
