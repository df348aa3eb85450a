import { quoted } from "@dray/api";
import { goName } from "./attribute-result.ts";
import { goType } from "./compile/runtime.ts";
import { durationText, timestampText } from "./library/conversions.ts";
import { JSONPatchValue, ObjectValue } from "./library/patch-types.ts";
import { LiteralMap } from "./maps.ts";
import { Duration, MapValue, Optional, Timestamp, TypeValue, typeName, Uint, type Value } from "./values.ts";

/** A value that is no patch; the message is upstream's. */
export class PatchValueError extends Error {
  override readonly name = "PatchValueError";
}

type JsonObject = { readonly [key: string]: unknown };

/**
 * The object that the expression of an ApplyConfiguration has made, as JSON. Throws PatchValueError.
 * Upstream: pkg/admission/plugin/policy/mutating/patch/smd.go, applyConfigPatcher.Patch
 */
export function appliedObject(value: Value): JsonObject {
  if (!(value instanceof ObjectValue))
    throw new PatchValueError(
      `unsupported return type from ApplyConfiguration expression: ${typeName(value)}`,
    );
  checkNames(value);
  return fieldsOf(value, "");
}

/**
 * The operations that the expression of a JSONPatch has made. Throws PatchValueError.
 * Upstream: pkg/admission/plugin/policy/mutating/patch/json_patch.go, evaluatePatchExpression
 */
export function patchOperations(value: Value): JsonObject[] {
  const mismatch = "type mismatch: JSONPatchType.expression should evaluate to array";
  if (!Array.isArray(value)) throw new PatchValueError(mismatch);
  return (value as readonly Value[]).map((operation) => {
    if (!(operation instanceof JSONPatchValue)) throw new PatchValueError(`${mismatch} of JSONPatch`);
    const { op, path, from, value: wanted } = operation;
    if (wanted instanceof ObjectValue) checkNames(wanted);
    return {
      op,
      path,
      ...(from === "" ? {} : { from }),
      ...(wanted === undefined ? {} : { value: marshalled(wanted) }),
    };
  });
}

/** The types of objects bear the names of the fields in which they stand. */
function checkNames(object: ObjectValue): void {
  const problems = [...misnamed(object, object.typeName)];
  if (problems.length > 0) throw new PatchValueError(`type mismatch: ${problems.join("\n")}`);
}

function* misnamed(value: Value, path: string): Generator<string> {
  if (value instanceof ObjectValue) {
    const { typeName: name, fields } = value;
    if (name !== path) {
      const why = "which matches field name path from root Object type";
      yield `unexpected type name ${quoted(name)}, expected ${quoted(path)}, ${why}`;
    }
    for (const [field, inner] of fields) yield* misnamed(inner, `${path}.${field}`);
  } else if (Array.isArray(value)) {
    for (const item of value as readonly Value[]) yield* misnamed(item, path);
  } else if (value instanceof LiteralMap) {
    for (const key of value.keys()) yield* misnamed(value.find(key)!, path);
  }
}

function fieldsOf({ fields }: ObjectValue, path: string): JsonObject {
  return record([...fields].map(([name, value]) => [name, applied(value, `${path}.${name}`, false)]));
}

/** Keys may be any text: `__proto__` too. */
function record(entries: readonly (readonly [string, unknown])[]): JsonObject {
  return Object.fromEntries(entries);
}

const untyped = (why: string): PatchValueError =>
  new PatchValueError(`error applying patch: failed to convert patch object to typed object: ${why}`);

/**
 * A value within an object, as JSON. Upstream converts literals one level deep only: a map in a list must be an
 * `Object.…`. It refuses null: a field is left out by `?field: optional.none()`.
 */
function applied(value: Value, path: string, isNested: boolean): unknown {
  if (value instanceof ObjectValue) return fieldsOf(value, path);
  if (value instanceof Optional)
    return value.value === undefined ? null : applied(value.value, path, isNested);
  if (Array.isArray(value))
    return (value as readonly Value[]).map((item, i) => applied(item, `${path}[${i}]`, true));
  if (value instanceof LiteralMap && isNested)
    throw untyped(`${path}: expected Object value, got ${goName(value)}`);
  if (value instanceof MapValue) {
    const nests = value instanceof LiteralMap;
    return record(entriesOf(value).map(([key, item]) => [key, applied(item, `${path}.${key}`, nests)]));
  }
  const scalar = scalarOf(value);
  if (scalar === undefined) throw untyped(`${path}: expected scalar, got ${goName(value)}`);
  return scalar;
}

function entriesOf(map: MapValue): [string, Value][] {
  return [...map.keys()].map((key) => {
    if (typeof key === "string") return [key, map.find(key)!];
    throw new PatchValueError("invalid return type: *dynamic.ObjectVal");
  });
}

/** Texts, booleans, numbers, and types by their names; undefined for all else. */
function scalarOf(value: Value): string | boolean | number | bigint | undefined {
  if (typeof value === "bigint") return wholeNumber(value);
  if (typeof value === "object") return value instanceof TypeValue ? value.name : undefined;
  return value;
}

const isSafe = (value: bigint): boolean => Number.isSafeInteger(Number(value));
const wholeNumber = (value: bigint): number | bigint => (isSafe(value) ? Number(value) : value);

/** The value of an operation, as protobuf's `Value` writes it in JSON. */
function marshalled(value: Value): unknown {
  if (value instanceof ObjectValue) return marshalledFields(value);
  if (value instanceof Optional) return value.value === undefined ? null : marshalled(value.value);
  if (Array.isArray(value)) return (value as readonly Value[]).map(marshalled);
  if (value instanceof MapValue)
    return record(
      [...value.keys()].map((key) => {
        if (typeof key !== "string") throw unmarshalled(`unsupported map key type: ${goType(key)}`);
        return [key, marshalled(value.find(key)!)];
      }),
    );
  if (typeof value === "bigint" || value instanceof Uint) {
    const whole = value instanceof Uint ? value.value : value;
    // A double would lose digits.
    return isSafe(whole) ? Number(whole) : String(whole);
  }
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  throw unmarshalled(`type conversion error from '${typeName(value)}' to '*structpb.Value'`);
}

function marshalledFields({ fields }: ObjectValue): JsonObject {
  return record([...fields].map(([name, value]) => [name, marshalled(value)]));
}

const unmarshalled = (why: string): PatchValueError =>
  new PatchValueError(`JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${why}`);

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
