import {
  CelError,
  Duration,
  equal,
  LiteralMap,
  MapValue,
  Optional,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "@dray/cel";
import { NotHere } from "./types.ts";

/** A value as the specification's tests write it: cel.expr.Value in JSON. */
export interface ValueJSON {
  readonly nullValue?: null;
  readonly boolValue?: boolean;
  readonly int64Value?: string;
  readonly uint64Value?: string;
  /** JSON has no infinities: they are words. */
  readonly doubleValue?: number | string;
  readonly stringValue?: string;
  /** In base64. */
  readonly bytesValue?: string;
  readonly typeValue?: string;
  readonly listValue?: { readonly values?: readonly ValueJSON[] };
  readonly mapValue?: {
    readonly entries?: readonly { readonly key: ValueJSON; readonly value: ValueJSON }[];
  };
  readonly objectValue?: { readonly "@type": string; readonly value?: unknown };
}

/** Throws NotHere for a message or an enum. */
export function readValue(json: ValueJSON): Value {
  if (json.nullValue !== undefined) return null;
  if (json.boolValue !== undefined) return json.boolValue;
  if (json.int64Value !== undefined) return BigInt(json.int64Value);
  if (json.uint64Value !== undefined) return new Uint(BigInt(json.uint64Value));
  if (json.doubleValue !== undefined) return Number(json.doubleValue);
  if (json.stringValue !== undefined) return json.stringValue;
  if (json.bytesValue !== undefined) return new Uint8Array(Buffer.from(json.bytesValue, "base64"));
  if (json.typeValue !== undefined) return new TypeValue(json.typeValue);
  if (json.listValue !== undefined) return (json.listValue.values ?? []).map(readValue);
  if (json.mapValue !== undefined) {
    const map = new LiteralMap();
    for (const { key, value } of json.mapValue.entries ?? []) map.set(readValue(key), readValue(value));
    return map;
  }
  return readMessage(json);
}

function readMessage({ objectValue }: ValueJSON): Value {
  const value = objectValue?.value;
  if (typeof value === "string") {
    if (objectValue?.["@type"].endsWith("google.protobuf.Duration")) {
      return new Duration(nanoseconds(value.replace(/s$/, "")));
    }
    if (objectValue?.["@type"].endsWith("google.protobuf.Timestamp")) return readTimestamp(value);
  }
  throw new NotHere(`the value ${JSON.stringify(objectValue)}`);
}

function nanoseconds(seconds: string): bigint {
  const [whole = "0", fraction = ""] = seconds.split(".");
  const nanos = BigInt(fraction.padEnd(9, "0"));
  return BigInt(whole) * 1_000_000_000n + (seconds.startsWith("-") ? -nanos : nanos);
}

function readTimestamp(text: string): Timestamp {
  const fraction = /\.(\d+)Z$/.exec(text)?.[1] ?? "";
  const milliseconds = Date.parse(text.replace(/\.\d+Z$/, "Z"));
  return new Timestamp(BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0")));
}

/** Whether two values are the same, types included; NaN is NaN, and maps have no order. */
export function same(a: Value, b: Value): boolean {
  if (typeName(a) !== typeName(b)) return false;
  if (typeof a === "number") return Object.is(a, b) || a === b;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, i) => same(value, b[i]!));
  }
  if (a instanceof MapValue && b instanceof MapValue) {
    const keys = [...a.keys()];
    const others = [...b.keys()];
    return (
      a.size === b.size &&
      keys.every((key) => {
        const other = others.find((candidate) => same(key, candidate));
        return other !== undefined && same(a.find(key)!, b.find(other)!);
      })
    );
  }
  return equal(a, b) === true;
}

/** A value in CEL's own notation, for people. */
export function show(value: Value): string {
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") return Number.isInteger(value) ? value.toFixed(1) : String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Uint8Array) return `b"${Buffer.from(value).toString("latin1")}"`;
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  if (value instanceof MapValue) {
    return `{${[...value.keys()].map((key) => `${show(key)}: ${show(value.find(key)!)}`).join(", ")}}`;
  }
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Duration || value instanceof Timestamp)
    return `${typeName(value)}(${value.nanoseconds}ns)`;
  if (value instanceof Optional)
    return value.value === undefined ? "optional.none()" : `optional.of(${show(value.value)})`;
  return value instanceof CelError ? `error: ${value.message}` : typeName(value);
}
