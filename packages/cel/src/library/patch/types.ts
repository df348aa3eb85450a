import type { ElementBudget } from "../../values/element-budget.ts";
import { equalWithin } from "../../values/equality.ts";
import { goNativeType } from "../../values/go-types.ts";
import { LiteralMap, StringMap } from "../../values/maps.ts";
import { type MessageType, MessageValue } from "../../values/message.ts";
import { dynType, stringType } from "../../values/types.ts";
import { CelError, MapValue, typeName, type Value } from "../../values/value.ts";
import { mapping } from "../costs/cost.ts";
import { declare, type FunctionDeclaration, overload, priced } from "../declarations.ts";

/**
 * A value of type `Object`, `Object.spec` and so on, with any fields: expressions are compiled without a
 * schema.
 * Upstream: pkg/cel/mutation/dynamic/objects.go, ObjectVal
 */
export class ObjectValue extends MessageValue {
  override readonly typeName: string;
  readonly fields: ReadonlyMap<string, Value>;
  override readonly isZero: boolean;

  constructor(name: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = name;
    this.fields = fields;
    this.isZero = fields.size === 0;
  }

  override equals({ fields }: ObjectValue, budget: ElementBudget): boolean {
    if (fields.size !== this.fields.size) return false;
    for (const [name, value] of this.fields) {
      const other = fields.get(name);
      if (other === undefined || !isSame(value, other, budget)) return false;
    }
    return true;
  }

  /** Upstream finds fields only by declaration of the type; an unset field is null. */
  override select(field: string, declared: boolean): Value | undefined {
    if (!declared) return undefined;
    return plain(this.fields.get(field) ?? null);
  }

  override isSet(field: string, declared: boolean): boolean {
    return declared && this.fields.has(field);
  }
}

/** Upstream compares fields with reflect.DeepEqual: a list or map is equal only to itself. */
function isSame(a: Value, b: Value, budget: ElementBudget): boolean {
  if (Array.isArray(a) || a instanceof MapValue) return a === b;
  return typeName(a) === typeName(b) && equalWithin(a, b, budget) === true;
}

/** Objects become maps when they are selected. */
function plain(value: Value): Value {
  if (value instanceof ObjectValue)
    return new StringMap(new Map([...value.fields].map(([name, field]) => [name, plain(field)])));
  if (value instanceof LiteralMap) {
    const map = new LiteralMap();
    for (const [key, inner] of value.entries()) map.set(key, plain(inner));
    return map;
  }
  return Array.isArray(value) ? (value as readonly Value[]).map(plain) : value;
}

const objectType = (name: string): MessageType => ({
  name,
  field: () => dynType,
  make: (fields) => new ObjectValue(name, fields),
});

/** An operation of a JSON patch. Upstream: pkg/cel/mutation/jsonpatch.go, JSONPatchVal */
export class JSONPatchValue extends MessageValue {
  override readonly typeName = "JSONPatch";
  readonly op: string;
  readonly path: string;
  readonly from: string;
  /** Absent if unset. */
  readonly value: Value | undefined;

  constructor(texts: Readonly<Record<"op" | "path" | "from", string>>, value: Value | undefined) {
    super();
    this.op = texts.op;
    this.path = texts.path;
    this.from = texts.from;
    this.value = value;
  }

  override equals(other: JSONPatchValue, budget: ElementBudget): boolean {
    if (other.op !== this.op || other.path !== this.path || other.from !== this.from) return false;
    if (this.value === undefined || other.value === undefined) return this.value === other.value;
    return equalWithin(this.value, other.value, budget) === true;
  }

  override select(field: string): Value {
    if (field === "value") return this.value ?? null;
    return isText(field) ? this[field] : new CelError(`unsupported indexer: ${field}`);
  }

  override isSet(field: string): boolean | CelError {
    if (field === "value") return this.value !== undefined;
    return isText(field) ? this[field] !== "" : new CelError(`unsupported field: ${field}`);
  }
}

const isText = (field: string): field is "op" | "path" | "from" =>
  field === "op" || field === "path" || field === "from";

/** The type of unknown fields. Upstream declares them without a type, so that only a dyn is assignable. */
const noType = { kind: "opaque", name: "", params: [] } as const;

const patchType: MessageType = {
  name: "JSONPatch",
  field: (name) => (isText(name) ? stringType : name === "value" ? dynType : noType),
  make(fields) {
    const texts = { op: "", path: "", from: "" };
    for (const [name, value] of fields) {
      if (name === "value") continue;
      if (!isText(name)) return new CelError(`unexpected JSONPatchType field: ${name}`);
      if (typeof value !== "string")
        return new CelError(`unexpected type ${goNativeType(value)} for JSONPatchType '${name}' field`);
      texts[name] = value;
    }
    return new JSONPatchValue(texts, fields.get("value"));
  },
};

/** Finds `Object`, all names below it, and `JSONPatch`. */
export function findPatchType(name: string): MessageType | undefined {
  if (name === patchType.name) return patchType;
  if (name !== "Object" && !name.startsWith("Object.")) return undefined;
  return objectType(name);
}

const escapeKey = (key: Value): Value => (key as string).replaceAll("~", "~0").replaceAll("/", "~1");

/** Functions for patches. Upstream: pkg/cel/library/jsonpatch.go */
export const patchLibrary: readonly FunctionDeclaration[] = [
  priced(
    mapping,
    declare("jsonpatch.escapeKey", [
      overload("string_jsonpatch_escapeKey_string", [stringType], stringType, escapeKey),
    ]),
  ),
];
