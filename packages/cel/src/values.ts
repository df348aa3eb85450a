import type { Quantity } from "@dray/api";
import type { CelType } from "./types.ts";
import { compareVersions, type Version } from "./version.ts";

/** An unsigned 64-bit integer; a plain bigint is an int. */
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
  /** Since the epoch. */
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
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

/** A value of a quantity; arithmetic makes another type of value in Go, which shows in equality. */
export class QuantityValue {
  readonly quantity: Quantity;
  readonly computed: boolean;
  constructor(quantity: Quantity, computed = false) {
    this.quantity = quantity;
    this.computed = computed;
  }
}

export class SemverValue {
  readonly version: Version;
  constructor(version: Version) {
    this.version = version;
  }
}

/** What went wrong at run time: a value, so that `&&` and `||` can absorb it. */
export class CelError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
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
  | readonly Value[]
  | MapValue
  | CelError;

/** A map: keys of different types are different keys, numbers of equal value are found by one another. */
export abstract class MapValue {
  abstract find(key: Value): Value | undefined;
  abstract has(key: Value): boolean;
  abstract keys(): Iterable<Value>;
  abstract readonly size: number;
}

/** A map by keys of scalars. */
export class LiteralMap extends MapValue {
  readonly #entries = new Map<string, readonly [Value, Value]>();

  set(key: Value, value: Value): void {
    this.#entries.set(keyText(key), [key, value]);
  }

  find(key: Value): Value | undefined {
    const exact = this.#entries.get(keyText(key));
    if (exact !== undefined) return exact[1];
    for (const other of equalNumbers(key)) {
      const entry = this.#entries.get(keyText(other));
      if (entry !== undefined) return entry[1];
    }
    return undefined;
  }

  has(key: Value): boolean {
    return this.find(key) !== undefined;
  }

  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }

  get size(): number {
    return this.#entries.size;
  }
}

/** A map by strings over a plain record of values. */
export class StringMap extends MapValue {
  readonly #entries: ReadonlyMap<string, Value>;

  constructor(entries: ReadonlyMap<string, Value>) {
    super();
    this.#entries = entries;
  }

  find(key: Value): Value | undefined {
    return typeof key === "string" ? this.#entries.get(key) : undefined;
  }

  has(key: Value): boolean {
    return typeof key === "string" && this.#entries.has(key);
  }

  keys(): Iterable<Value> {
    return this.#entries.keys();
  }

  get size(): number {
    return this.#entries.size;
  }
}

function keyText(key: Value): string {
  if (typeof key === "string") return `s${key}`;
  if (typeof key === "bigint") return `i${key}`;
  if (key instanceof Uint) return `u${key.value}`;
  return `${typeof key}${String(key)}`;
}

const maxInt = 2n ** 63n - 1n;
const minInt = -(2n ** 63n);
const maxUint = 2n ** 64n - 1n;
export const inInt = (value: bigint): boolean => value >= minInt && value <= maxInt;
export const inUint = (value: bigint): boolean => value >= 0n && value <= maxUint;

/** The numbers of the other types that equal this one. */
function equalNumbers(key: Value): Value[] {
  const whole = wholeNumber(key);
  if (whole === undefined) return [];
  const others: Value[] = [];
  if (typeof key !== "bigint" && inInt(whole)) others.push(whole);
  if (!(key instanceof Uint) && inUint(whole)) others.push(new Uint(whole));
  return others;
}

function wholeNumber(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  return undefined;
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
  return "error";
}

/** The type that a constant has for the checker. */
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
      for (const key of value.keys()) {
        return isOfType(key, type.params[0]!) && isOfType(value.find(key)!, type.params[1]!);
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

/** CEL's `==`: true, false, or an error where a type of Kubernetes stands left of another type. */
export function equal(a: Value, b: Value): boolean | CelError {
  if (a === b) return true;
  if (a === null || b === null) return false;
  const left = typeof a;
  if (left === "string" || left === "boolean") return false;
  if (left === "number" || left === "bigint" || a instanceof Uint) return compareNumbers(a, b) === 0;
  if (a instanceof QuantityValue) {
    // Go tells a parsed quantity from a computed one and refuses the second on the right of the first.
    if (!(b instanceof QuantityValue) || (b.computed && !a.computed)) return noSuchOverload;
    return a.quantity.equals(b.quantity);
  }
  if (a instanceof SemverValue) {
    return b instanceof SemverValue ? compareVersions(a.version, b.version) === 0 : noSuchOverload;
  }
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(a, b);
  if (a instanceof Uint8Array) {
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, i) => byte === b[i]);
  }
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value);
  }
  return false;
}

function equalLists(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((value, i) => equal(value, b[i]!) !== false);
}

function equalMaps(a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const other = b.has(key) ? b.find(key) : undefined;
    if (other === undefined || equal(a.find(key)!, other) === false) return false;
  }
  return true;
}

/** -1, 0, 1; NaN where a NaN is met; undefined where one is no number. */
export function compareNumbers(a: Value, b: Value): number | undefined {
  const x = a instanceof Uint ? a.value : a;
  const y = b instanceof Uint ? b.value : b;
  if (typeof x !== "number" && typeof x !== "bigint") return undefined;
  if (typeof y !== "number" && typeof y !== "bigint") return undefined;
  if (x < y) return -1;
  if (x > y) return 1;
  return Number.isNaN(x) || Number.isNaN(y) ? Number.NaN : 0;
}

const encoder = new TextEncoder();
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** Compares as UTF-8 bytes do, which is not how JavaScript compares strings beyond the basic plane. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const surrogateX = x >= 0xd800 && x <= 0xdfff;
    const surrogateY = y >= 0xd800 && y <= 0xdfff;
    if (surrogateX !== surrogateY) return surrogateX ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

/** Code points of a string. */
export function textLength(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        length--;
        i++;
      }
    }
  }
  return length;
}

/** What costs are counted by: characters, bytes, elements; 1 for everything else. */
export function costSize(value: Value): number {
  if (typeof value === "string") return textLength(value);
  if (Array.isArray(value)) return value.length;
  if (value instanceof MapValue) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Optional) return value.value === undefined ? 1 : costSize(value.value);
  return 1;
}
