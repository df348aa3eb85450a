import { MapValue, type Value } from "./value.ts";

/** A map whose values are computed when they are first looked at, and then kept; an error is a value, too. */
export class LazyMap extends MapValue {
  readonly #make: ReadonlyMap<string, () => Value>;
  readonly #made = new Map<string, Value>();

  constructor(make: ReadonlyMap<string, () => Value>) {
    super();
    this.#make = make;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const value = this.#make.get(key)?.();
    if (value !== undefined) this.#made.set(key, value);
    return value;
  }

  has(key: Value): boolean {
    return typeof key === "string" && this.#make.has(key);
  }

  keys(): Iterable<Value> {
    return this.#make.keys();
  }

  get size(): number {
    return this.#make.size;
  }
}
