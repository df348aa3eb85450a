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

/** A map that an expression makes. Its keys are those of a Go map: of any type that Go can hash. */
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

/** The same for keys that are one key to Go: scalars and times by value, of the rest each object for itself. */
function identity(key: Value): unknown {
  switch (typeof key) {
    case "string":
      return `s${key}`;
    case "number":
      // No NaN is another.
      return Number.isNaN(key) ? Symbol() : key;
    case "object":
      break;
    default:
      return key;
  }
  if (key instanceof Uint) return `u${key.value}`;
  if (key instanceof Duration) return `d${key.nanoseconds}`;
  // Go compares zones by where they lie in memory.
  if (key instanceof Timestamp && key.offset === 0) return `t${key.nanoseconds}`;
  if (key instanceof TypeValue) return `y${key.name}`;
  checkHashable(key);
  return key instanceof LibraryValue ? key.identity : key;
}

/** Values that Go cannot hash, by the names of their types here and there. */
const unhashable: ReadonlyMap<string, string> = new Map([
  ["kubernetes.NamedFormat", "cel.Format"],
  ["kubernetes.Semver", "cel.Semver"],
  ["bytes", "types.Bytes"],
]);

/** Whether a value can be a key of a map, or an element of a set, in Go. */
export const isHashable = (value: Value): boolean => !unhashable.has(typeName(value));

/** Throws Panic where it cannot. */
export function checkHashable(value: Value): void {
  const type = unhashable.get(typeName(value));
  if (type === undefined) return;
  throw new Panic(new CelError(`internal error: runtime error: hash of unhashable type ${type}`));
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

/** The numbers of the other types that equal this one. */
function equalNumbers(key: Value): Value[] {
  const whole = wholeNumber(key);
  if (whole === undefined) return [];
  const others: Value[] = [];
  if (typeof key !== "bigint" && inInt(whole)) others.push(whole);
  if (!(key instanceof Uint) && inUint(whole)) others.push(new Uint(whole));
  return others;
}
