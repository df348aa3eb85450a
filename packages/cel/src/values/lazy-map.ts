import { MapValue, type Value } from "./value.ts";

/** A map whose values are computed at their first use. A CelError is kept, too. */
export class LazyMap extends MapValue {
  readonly #compute: ReadonlyMap<string, () => Value>;
  readonly #values = new Map<string, Value>();

  constructor(compute: ReadonlyMap<string, () => Value>) {
    super();
    this.#compute = compute;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.#compute.get(key)?.();
    if (value !== undefined) this.#values.set(key, value);
    return value;
  }

  has(key: Value): boolean {
    return typeof key === "string" && this.#compute.has(key);
  }

  keys(): Iterable<Value> {
    return this.#compute.keys();
  }

  get size(): number {
    return this.#compute.size;
  }
}
