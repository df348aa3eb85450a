import {
  CelError,
  calendarDay,
  Duration,
  escapeFieldName,
  MapValue,
  parseTimestamp,
  Timestamp,
  unescapeFieldName,
  type Value,
} from "@dray/cel";
import { goType } from "../../json/go-text.ts";
import { deepEqual } from "../../storage/json.ts";
import { durationOf } from "../formats.ts";
import {
  additionalOf,
  isEmbedded,
  isIntOrString,
  isPlain,
  itemsOf,
  type Plain,
  preserves,
  propertyOf,
  type Schema,
} from "../schema.ts";
import { withMetadata } from "./declared-type.ts";

/**
 * Returns a JSON value for rules, typed by its schema. A value of another type is an error when a rule
 * accesses it.
 */
export function celValue(value: unknown, schema: Schema): Value {
  if (value === null || value === undefined) {
    return schema.nullable ? null : new CelError("invalid data, got null for schema with nullable=false");
  }
  if (isIntOrString(schema)) {
    if (typeof value === "string") return value;
    if (isInteger(value)) return BigInt(value);
    return new CelError("invalid data, expected XIntOrString value to be either a string or integer");
  }
  switch (schema.type) {
    case "object":
      if (isPlain(value)) return new ObjectValue(value, isEmbedded(schema) ? withMetadata(schema) : schema);
      return new CelError("invalid data, expected a map for the provided schema with type=object");
    case "array": {
      if (!Array.isArray(value)) {
        return new CelError("invalid data, expected an array for the provided schema with type=array");
      }
      const items = itemsOf(schema);
      if (items === undefined) {
        return new CelError("invalid array type, expected Items with a non-empty Schema");
      }
      return value.map((item) => celValue(item, items));
    }
    case "string":
      if (typeof value === "string") return textOf(value, schema.format);
      return new CelError(`invalid data, expected string, got ${goType(value)}`);
    case "number":
      if (typeof value === "number" || typeof value === "bigint") return Number(value);
      return new CelError(`invalid data, expected float, got ${goType(value)}`);
    case "integer":
      if (isInteger(value)) return BigInt(value);
      return new CelError(`invalid data, expected int, got ${goType(value)}`);
    case "boolean":
      if (typeof value === "boolean") return value;
      return new CelError(`invalid data, expected bool, got ${goType(value)}`);
    default:
  }
  if (preserves(schema)) return null;
  return new CelError(
    `invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${schema.type ?? ""}`,
  );
}

const isInteger = (value: unknown): value is number | bigint =>
  typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));

function textOf(text: string, format: string | undefined): Value {
  switch (format) {
    case "duration": {
      const duration = durationOf(text);
      if (duration !== undefined) return new Duration(duration);
      return new CelError(`Invalid duration ${text}: unable to parse ${text} as duration`);
    }
    case "date": {
      const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
      const day = match && calendarDay(Number(match[1]), Number(match[2]), Number(match[3]));
      if (day) return new Timestamp(BigInt(day.getTime()) * 1_000_000n);
      return new CelError(`Invalid date formatted string ${text}: it is no date`);
    }
    case "date-time": {
      if (text === "") return new Timestamp(0n);
      const time = parseTimestamp(/(z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`);
      if (time instanceof Timestamp) return time;
      return new CelError(`Invalid date-time formatted string ${text}: it is no time`);
    }
    case "byte":
      return Buffer.from(text, "base64");
    default:
      return text;
  }
}

/**
 * An object: its fields under their names in expressions, or the entries of a map. Fields that are not in the
 * schema are hidden.
 * Upstream: staging/src/k8s.io/apiserver/pkg/cel/common/valuesunstructured.go, unstructuredMap
 */
class ObjectValue extends MapValue {
  readonly #object: Plain;
  readonly #schema: Schema;
  /** True for an object with fields, false for a map. */
  readonly #named: boolean;
  /** By their names in the object. */
  #values: Map<string, Value> | undefined;

  constructor(object: Plain, schema: Schema) {
    super();
    this.#object = object;
    this.#schema = schema;
    this.#named = schema.properties !== undefined || isEmbedded(schema);
  }

  #entries(): Map<string, Value> {
    if (this.#values !== undefined) return this.#values;
    const values = new Map<string, Value>();
    const named = this.#named;
    const additional = named ? undefined : additionalOf(this.#schema);
    for (const [key, value] of Object.entries(this.#object)) {
      const schema = named ? propertyOf(this.#schema, key) : additional;
      // A named field that is null counts as absent: `has` cannot distinguish them.
      if (named && value === null) continue;
      if (schema !== undefined) values.set(key, celValue(value, schema));
    }
    this.#values = values;
    return values;
  }

  /** A field has two names if its own is a reserved word: `namespace` and `__namespace__`. */
  find(key: Value): Value | undefined {
    const name = this.#nameOf(key);
    return name === undefined ? undefined : this.#entries().get(name);
  }

  has(key: Value): boolean {
    return this.find(key) !== undefined;
  }

  keys(): Iterable<Value> {
    const names = this.#entries().keys();
    return this.#named ? names.map((name) => escapeFieldName(name) ?? name) : names;
  }

  #nameOf(key: Value): string | undefined {
    if (typeof key !== "string") return undefined;
    return this.#named ? unescapeFieldName(key) : key;
  }

  /** Null fields must be absent or null in the other; hidden fields that are in both are compared. */
  override equalUnseen(other: MapValue): boolean {
    if (!this.#named || !(other instanceof ObjectValue)) return true;
    const [seen, others] = [this.#entries(), other.#object];
    return Object.entries(this.#object).every(([key, value]) => {
      if (seen.has(key) || !Object.hasOwn(others, key)) return true;
      const known = value === null && propertyOf(this.#schema, key) !== undefined;
      return known ? !other.#entries().has(key) : deepEqual(value, others[key]);
    });
  }

  /** Null and hidden fields count: two objects that differ in these are not equal. */
  get size(): number {
    return Object.keys(this.#object).length;
  }
}
