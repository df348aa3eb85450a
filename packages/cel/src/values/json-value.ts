import { MapValue, type Value } from "./value.ts";

/**
 * Converts a JSON value without a declared type: whole numbers become ints, others doubles, objects maps.
 * Members are converted when an expression reads them, so the value must not change.
 */
export function jsonValue(json: unknown): Value {
  switch (typeof json) {
    case "string":
    case "boolean":
    case "bigint":
      return json;
    case "number":
      return Number.isInteger(json) ? BigInt(json) : json;
    default:
  }
  if (json === null || json === undefined) return null;
  if (Array.isArray(json)) return json.map(jsonValue);
  return new JsonMap(json as Readonly<Record<string, unknown>>);
}

/** A JSON object without its undefined members. */
class JsonMap extends MapValue {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #converted = new Map<string, Value>();

  constructor(members: Readonly<Record<string, unknown>>) {
    super();
    this.#members = members;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string" || !this.has(key)) return undefined;
    let value = this.#converted.get(key);
    if (value === undefined) {
      value = jsonValue(this.#members[key]);
      this.#converted.set(key, value);
    }
    return value;
  }

  has(key: Value): boolean {
    return typeof key === "string" && Object.hasOwn(this.#members, key) && this.#members[key] !== undefined;
  }

  keys(): Iterable<Value> {
    return Object.keys(this.#members).filter((key) => this.#members[key] !== undefined);
  }

  get size(): number {
    return [...this.keys()].length;
  }
}
