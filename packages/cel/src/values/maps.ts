import { wholeNumber } from "./equality.ts";
import { inInt, inUint } from "./integers.ts";
import {
  CelError,
  Duration,
  LibraryValue,
  MapValue,
  Panic,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "./value.ts";

/** A map that an expression makes. As in a Go map, keys have any type that Go can hash. */
export class LiteralMap extends MapValue {
  readonly #entries = new Map<unknown, readonly [Value, Value]>();

  /** Throws Panic for a key that Go cannot hash. */
  set(key: Value, value: Value): void {
    this.#entries.set(identity(key), [key, value]);
  }

  delete(key: Value): void {
    this.#entries.delete(identity(key));
  }

  /** Throws Panic for a key that Go cannot hash, unless the map is empty. */
  find(key: Value): Value | undefined {
    if (this.#entries.size === 0) return undefined;
    const exact = this.#entries.get(identity(key));
    if (exact !== undefined) return exact[1];
    for (const other of equalNumbers(key)) {
      const entry = this.#entries.get(identity(other));
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

/** Keys with the same identity are the same key in Go: scalars and times by value, others by reference. */
function identity(key: Value): unknown {
  switch (typeof key) {
    case "string":
      return `s${key}`;
    case "number":
      // NaN does not equal itself.
      return Number.isNaN(key) ? Symbol() : key;
    case "object":
      break;
    default:
      return key;
  }
  if (key instanceof Uint) return `u${key.value}`;
  if (key instanceof Duration) return `d${key.nanoseconds}`;
  // Go compares time zones by pointer.
  if (key instanceof Timestamp && key.offset === 0) return `t${key.nanoseconds}`;
  if (key instanceof TypeValue) return `y${key.name}`;
  checkHashable(key);
  return key instanceof LibraryValue ? key.identity : key;
}

/** The Go types of values that Go cannot hash, by CEL type. */
const unhashable: ReadonlyMap<string, string> = new Map([
  ["kubernetes.NamedFormat", "cel.Format"],
  ["kubernetes.Semver", "cel.Semver"],
  ["bytes", "types.Bytes"],
]);

/** Reports whether Go can hash a value. */
export const isHashable = (value: Value): boolean => !unhashable.has(typeName(value));

/** Throws Panic for a value that Go cannot hash. */
export function checkHashable(value: Value): void {
  const type = unhashable.get(typeName(value));
  if (type === undefined) return;
  throw new Panic(new CelError(`internal error: runtime error: hash of unhashable type ${type}`));
}

/** A map with string keys. */
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

/** The equal numbers of the other numeric types. */
function equalNumbers(key: Value): Value[] {
  const whole = wholeNumber(key);
  if (whole === undefined) return [];
  const others: Value[] = [];
  if (typeof key !== "bigint" && inInt(whole)) others.push(whole);
  if (!(key instanceof Uint) && inUint(whole)) others.push(new Uint(whole));
  return others;
}
