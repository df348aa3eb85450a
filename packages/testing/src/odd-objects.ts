import { type Field, type FieldType, type StructType, structType } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import type { Random } from "./random.ts";

export interface OddOptions {
  /** Texts of fields that may name another object, besides empty and unknown ones. */
  readonly names: readonly string[];
  /** Values of fields by their name in the schema, such as `resource/v1.DeviceTaintSelector.pool`. */
  readonly fixed?: Readonly<Record<string, unknown>>;
}

const maxDepth = 9;
const quantities = ["0", "-1", "1", "100m", "4Gi", "1e3", "9223372036854775807", "-9223372036854775808"];
const times = ["2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];
const integers = [0, 1, -1, 2, 2_147_483_647, -2_147_483_648];
const texts = ["", "Unknown", "a=b", "1/0 == 0", "*", "-1", "\u0000", "ünïcode", "__proto__"];

/**
 * An object of a kind as any server may send it: each field absent, null or set; zero, negative and huge
 * numbers, empty texts and objects, values of another release. Follows the schema, so that each value has
 * the type of its field.
 */
export function oddObject(row: KindRow, random: Random, options: OddOptions): Record<string, unknown> {
  const apiVersion = row.group === "" ? row.version : `${row.group}/${row.version}`;
  const object = oddStruct(structType(row.type), { random, ...options }, 0);
  return { ...object, apiVersion, kind: row.kind };
}

interface Odd extends OddOptions {
  readonly random: Random;
}

function oddStruct(struct: StructType, odd: Odd, depth: number): Record<string, unknown> {
  const { random } = odd;
  const object: Record<string, unknown> = {};
  const { alternatives } = struct;
  // Lists and structs at the top are what readers go through.
  const present = depth <= 1 ? 0.85 : 0.45;
  for (const field of struct.fields.values()) {
    const fixed = odd.fixed?.[field.id];
    if (fixed !== undefined) object[field.name] = fixed;
    else if (alternatives === undefined && random.chance(present))
      object[field.name] = oddField(field, odd, depth);
  }
  return object;
}

function oddField(field: Field, odd: Odd, depth: number): unknown {
  const { random } = odd;
  if (random.chance(0.15)) return null;
  const known = knownValues(field);
  if (known.length > 0 && random.chance(0.7)) return random.pick(known);
  return oddValue(field.type, odd, depth + 1);
}

const knownValues = ({ name, type }: Field): readonly string[] =>
  type.form === "scalar" ? (valuesByField[name] ?? []) : [];

/** Values that lead readers further than unknown ones. */
const valuesByField: Readonly<Record<string, readonly string[]>> = {
  operator: ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"],
  effect: ["NoSchedule", "NoExecute", "PreferNoSchedule", "None"],
  phase: ["Pending", "Running", "Succeeded", "Failed", "Bound", "Available", "Released", "Active"],
  status: ["True", "False", "Unknown"],
  restartPolicy: ["Always", "Never", "OnFailure"],
  allocationMode: ["ExactCount", "All"],
  whenUnsatisfiable: ["DoNotSchedule", "ScheduleAnyway"],
  volumeBindingMode: ["Immediate", "WaitForFirstConsumer"],
};

function oddValue(type: FieldType, odd: Odd, depth: number): unknown {
  const { random } = odd;
  if (type.form === "list") {
    if (depth > maxDepth) return [];
    return random.list(0, 2, () => oddElement(type.element, odd, depth));
  }
  if (type.form === "map") {
    const entries =
      depth > maxDepth ? [] : random.list(0, 2, () => [oddText(odd), oddElement(type.value, odd, depth)]);
    return Object.fromEntries(entries as [string, unknown][]);
  }
  if (type.form === "struct") {
    if (type.struct.anyJSON || type.struct.alternatives !== undefined) return {};
    return depth > maxDepth || random.chance(0.1) ? {} : oddStruct(type.struct, odd, depth);
  }
  return oddScalar(type.name, odd);
}

const oddElement = (type: FieldType, odd: Odd, depth: number): unknown =>
  odd.random.chance(0.05) ? null : oddValue(type, odd, depth + 1);

function oddText({ random, names }: Odd): string {
  return random.chance(0.6) ? random.pick(names) : random.pick(texts);
}

function oddScalar(name: string, odd: Odd): unknown {
  const { random } = odd;
  switch (name) {
    case "string":
      return oddText(odd);
    case "bool":
      return random.chance(0.5);
    case "int32":
      return random.pick(integers);
    case "int64":
      return random.pick([...integers, 9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n]);
    case "double":
      return random.pick([0, -1.5, 1e300]);
    case "bytes":
      return random.pick(["", "AA=="]);
    case "Quantity":
      return random.pick(quantities);
    case "Time":
    case "MicroTime":
      return random.pick(times);
    case "Duration":
      return random.pick(["0s", "-1h0m0s", "1m0s"]);
    case "IntOrString":
      return random.pick([0, -1, 80, "", "50%", "http"]);
    default:
      return random.pick([null, {}, { a: null }, { kind: null, list: [null] }]);
  }
}
