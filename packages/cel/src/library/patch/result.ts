import { quoted } from "@dray/api";
import { ElementBudget } from "../../values/element-budget.ts";
import { goValueType } from "../../values/go-types.ts";
import { LiteralMap } from "../../values/maps.ts";
import { durationText, timestampText } from "../../values/time.ts";
import {
  Duration,
  MapValue,
  Optional,
  QuantityValue,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "../../values/value.ts";
import { scalarText } from "../../values/value-text.ts";
import { base64, ForeignValue, foreign } from "./foreign-value.ts";
import { JSONPatchValue, ObjectValue } from "./types.ts";

/** The value is not a patch. The message is upstream's. */
export class PatchValueError extends Error {
  override readonly name = "PatchValueError";
}

type JsonObject = { readonly [key: string]: unknown };

/**
 * Converts the result of an ApplyConfiguration expression to JSON, with a ForeignValue for each value that
 * JSON lacks. Throws PatchValueError.
 * Upstream: pkg/admission/plugin/policy/mutating/patch/smd.go, applyConfigPatcher.Patch
 */
export function appliedObject(value: Value): JsonObject {
  if (!(value instanceof ObjectValue))
    throw new PatchValueError(
      `unsupported return type from ApplyConfiguration expression: ${typeName(value)}`,
    );
  const applied = bounded((budget) => {
    checkNames(value, budget);
    return native(value, false, budget);
  });
  if (applied instanceof ForeignValue) throw new PatchValueError("invalid return type: *dynamic.ObjectVal");
  return applied as JsonObject;
}

/**
 * Converts the result of a JSONPatch expression to operations. Throws PatchValueError.
 * Upstream: pkg/admission/plugin/policy/mutating/patch/json_patch.go, evaluatePatchExpression
 */
export function patchOperations(value: Value): JsonObject[] {
  const mismatch = "type mismatch: JSONPatchType.expression should evaluate to array";
  if (!Array.isArray(value)) throw new PatchValueError(mismatch);
  const operations = value as readonly Value[];
  return operations.map((operation) => {
    if (!(operation instanceof JSONPatchValue)) throw new PatchValueError(`${mismatch} of JSONPatch`);
    const { op, path, from, value: wanted } = operation;
    if (wanted instanceof ObjectValue) bounded((budget) => checkNames(wanted, budget));
    return {
      op,
      path,
      ...(from === "" ? {} : { from }),
      ...(wanted === undefined ? {} : { value: bounded((budget) => marshalled(wanted, budget)) }),
    };
  });
}

/**
 * Bounds the conversion of a value that contains the same list or map many times: sharing costs nothing in
 * CEL.
 */
function bounded<T>(convert: (budget: ElementBudget) => T): T {
  try {
    return convert(new ElementBudget());
  } catch (error) {
    throw error instanceof RangeError ? new PatchValueError(`internal error: ${error.message}`) : error;
  }
}

/** Checks that each object has the type of its field path: `Object.spec` in `Object{spec: …}`. */
function checkNames(object: ObjectValue, budget: ElementBudget): void {
  const problems = [...misnamed(object, object.typeName, budget)];
  if (problems.length > 0) throw new PatchValueError(`type mismatch: ${problems.join("\n")}`);
}

function* misnamed(value: Value, path: string, budget: ElementBudget): Generator<string> {
  budget.spend(1);
  if (value instanceof ObjectValue) {
    const { typeName: name, fields } = value;
    if (name !== path) {
      const why = "which matches field name path from root Object type";
      yield `unexpected type name ${quoted(name)}, expected ${quoted(path)}, ${why}`;
    }
    for (const [field, inner] of fields) yield* misnamed(inner, `${path}.${field}`, budget);
  } else if (Array.isArray(value)) {
    for (const item of value as readonly Value[]) yield* misnamed(item, path, budget);
  } else if (value instanceof LiteralMap) {
    for (const [, inner] of value.entries()) yield* misnamed(inner, path, budget);
  }
}

/** Makes an object with any keys, `__proto__` included. */
function record(entries: readonly (readonly [string, unknown])[]): JsonObject {
  return Object.fromEntries(entries);
}

/**
 * Converts a value as upstream does. A map literal within a list or map stays foreign: it must be an
 * `Object.…`. Null stays foreign, too: `?field: optional.none()` leaves a field out.
 * Upstream: pkg/cel/mutation/dynamic/objects.go, convertField
 */
function native(value: Value, isNested: boolean, budget: ElementBudget): unknown {
  budget.spend(1);
  if (value instanceof ObjectValue) return nativeFields(value, budget);
  if (value instanceof Optional)
    return value.value === undefined ? null : native(value.value, isNested, budget);
  if (Array.isArray(value)) return (value as readonly Value[]).map((item) => native(item, true, budget));
  if (value instanceof MapValue && !(value instanceof LiteralMap && isNested)) {
    const nests = value instanceof LiteralMap;
    return record([...value.entries()].map(([key, inner]) => [textKey(key), native(inner, nests, budget)]));
  }
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof TypeValue) return value.name;
  return typeof value === "object" ? foreign(value) : value;
}

/** A key of a map is not a string. */
class KeyError extends Error {}

function textKey(key: Value): string {
  if (typeof key === "string") return key;
  throw new KeyError(`map key ${quoted(scalarText(key))} is of type ${goValueType(key)}, not string`);
}

function nativeFields({ fields }: ObjectValue, budget: ElementBudget): JsonObject | ForeignValue {
  const entries: [string, unknown][] = [];
  for (const [name, value] of fields) {
    try {
      entries.push([name, native(value, false, budget)]);
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      const text = `fail to convert field ${quoted(name)}: ${error.message}`;
      return new ForeignValue({ type: "*types.Err", text, syntax: text });
    }
  }
  return record(entries);
}

/** Converts the value of an operation to the JSON of protobuf's `Value`. Throws PatchValueError. */
function marshalled(value: Value, budget: ElementBudget): unknown {
  budget.spend(1);
  if (value instanceof ObjectValue) return withoutForeign(native(value, false, budget));
  if (value instanceof Optional) return value.value === undefined ? null : marshalled(value.value, budget);
  if (Array.isArray(value)) return (value as readonly Value[]).map((item) => marshalled(item, budget));
  if (value instanceof MapValue)
    return record(
      [...value.entries()].map(([key, inner]) => [marshalledKey(key), marshalled(inner, budget)]),
    );
  if (typeof value === "bigint" || value instanceof Uint) {
    const whole = value instanceof Uint ? value.value : value;
    // Protobuf writes integers beyond 2^53 as strings.
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : String(whole);
  }
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  throw unmarshalled(unmarshallable(value));
}

function marshalledKey(key: Value): string {
  if (typeof key === "string") return key;
  throw unmarshalled(`unsupported type conversion from '${typeName(key)}' to string`);
}

function unmarshallable(value: Value): string {
  if (value instanceof TypeValue) return "type conversion not supported for 'type'";
  if (value instanceof JSONPatchValue) return "cannot convert to native type: *structpb.Value";
  const name = value instanceof QuantityValue ? "Quantity" : typeName(value);
  return `type conversion error from '${name}' to '*structpb.Value'`;
}

/** Converts fields of objects, which pass through Go values: integers become doubles, bytes base64. */
function withoutForeign(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof ForeignValue) {
    if (value.marshalled !== undefined) return value.marshalled;
    throw unmarshalled(`proto: invalid type: ${value.type}`);
  }
  if (Array.isArray(value)) return value.map(withoutForeign);
  if (typeof value !== "object" || value === null) return value;
  return record(Object.entries(value).map(([key, member]) => [key, withoutForeign(member)]));
}

const unmarshalled = (why: string): PatchValueError =>
  new PatchValueError(`JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${why}`);
