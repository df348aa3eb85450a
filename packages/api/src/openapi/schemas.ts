import { isInRelease, minorOf } from "../features/features.ts";
import { type KindRow, kindRows } from "../schema/table.ts";
import { type Field, type FieldType, type StructType, structType } from "../schema/types.ts";
import { describeCommonField, describeField, describeType } from "./descriptions.ts";
import { enumOf } from "./enums.ts";
import type { JSONObject, JSONValue } from "./json.ts";
import { type SharedName, schemaName, sharedNames } from "./names.ts";
import requiredFields from "./required.json" with { type: "json" };

const builtins: Readonly<Record<string, { readonly schema: JSONObject; readonly zero?: JSONValue }>> = {
  string: { schema: { type: "string" }, zero: "" },
  bool: { schema: { type: "boolean" }, zero: false },
  int32: { schema: { type: "integer", format: "int32" }, zero: 0 },
  int64: { schema: { type: "integer", format: "int64" }, zero: 0 },
  double: { schema: { type: "number", format: "double" }, zero: 0 },
  bytes: { schema: { type: "string", format: "byte" } },
  any: { schema: {} },
};

const sharedSchemas: Readonly<Record<SharedName, () => JSONObject>> = {
  Quantity: () => ({ oneOf: [{ type: "string" }, { type: "number" }] }),
  IntOrString: () => ({ format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] }),
  RawExtension: () => ({ type: "object" }),
  Time: () => ({ type: "string", format: "date-time" }),
  MicroTime: () => ({ type: "string", format: "date-time" }),
  Duration: () => ({ type: "string" }),
  FieldsV1: () => ({ type: "object" }),
  Patch: () => ({ type: "object" }),
  WatchEvent: () => ({
    type: "object",
    required: ["type", "object"],
    properties: {
      object: {
        description: "The object after the change, or a Status.",
        allOf: [{ $ref: reference(sharedNames.RawExtension) }],
      },
      type: { type: "string", default: "" },
    },
  }),
};

/** Types that have kind and apiVersion but no paths of their own. */
const typedMeta: ReadonlySet<string> = new Set([
  "meta/v1.APIGroup",
  "meta/v1.APIGroupList",
  "meta/v1.APIResourceList",
  "meta/v1.APIVersions",
  "meta/v1.DeleteOptions",
  "meta/v1.Status",
]);

/** The schema of a kind that the table lacks: a custom resource. */
export interface CustomSchema {
  /** The name of the schema, from the reversed group: `com.example.v1.Widget`. */
  readonly name: string;
  readonly listKind: string;
  /** Schema of the definition without the fields that all objects have; undefined: any object. */
  readonly schema: JSONObject | undefined;
  /** Paths of the fields that field selectors may name: `spec.size`. */
  readonly selectableFields: readonly string[];
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The schemas of one document: a type enters with everything it reaches when it is first referred to. */
export class SchemaSet {
  readonly #release: string;
  readonly #groupVersion: { readonly group: string; readonly version: string };
  readonly #atomicTypes: ReadonlySet<string>;
  readonly #made = new Map<string, JSONObject>();
  /** By the type of their row. */
  readonly #custom = new Map<string, { readonly row: KindRow; readonly custom: CustomSchema }>();
  readonly #kinds: ReadonlyMap<string, KindRow>;

  constructor(
    release: string,
    groupVersion: { readonly group: string; readonly version: string },
    atomicTypes: ReadonlySet<string>,
  ) {
    this.#release = release;
    this.#groupVersion = groupVersion;
    this.#atomicTypes = atomicTypes;
    this.#kinds = new Map(kindRows.map((row) => [row.type, row]));
  }

  /** All that was referred to, by name, in the order of the names. */
  all(): JSONObject {
    return Object.fromEntries([...this.#made].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Makes a type known that the table lacks. */
  add(row: KindRow, custom: CustomSchema): void {
    this.#custom.set(row.type, { row, custom });
  }

  /** A reference to a struct type of the table, or to one that was added. */
  type(name: string): JSONObject {
    const known = this.#custom.get(name);
    if (known !== undefined)
      return this.#once(known.custom.name, () => this.#object(known.row, known.custom));
    return this.#once(schemaName(name), () => this.#struct(structType(name)));
  }

  shared(name: SharedName): JSONObject {
    if (name === "WatchEvent") this.shared("RawExtension");
    return this.#once(sharedNames[name], sharedSchemas[name]);
  }

  /**
   * A reference to the list of a kind. Every list has the same shape, so no list type is asked of the table.
   */
  list(row: KindRow): JSONObject {
    const custom = this.#custom.get(row.type)?.custom;
    const listKind = custom?.listKind ?? `${row.kind}List`;
    const name =
      custom === undefined ? schemaName(`${row.type}List`) : custom.name.replace(/[^.]*$/, listKind);
    return this.#once(name, () => ({
      description: `A list of ${row.kind} objects.`,
      type: "object",
      required: ["items"],
      properties: {
        ...typeProperties(),
        items: {
          description: "The objects.",
          type: "array",
          items: custom === undefined ? this.#item(row.type) : this.type(row.type),
        },
        metadata: {
          description: describeCommonField("metadata"),
          allOf: [this.type("meta/v1.ListMeta")],
          ...(custom === undefined ? { default: {} } : {}),
        },
      },
      "x-kubernetes-group-version-kind": [{ group: row.group, version: row.version, kind: listKind }],
      ...selectable(custom),
    }));
  }

  #item(type: string): JSONObject {
    return this.#element({ form: "struct", struct: structType(type) }, undefined);
  }

  /** A custom resource: its own schema with the fields that every object has. */
  #object({ group, version, kind }: KindRow, custom: CustomSchema): JSONObject {
    const { schema } = custom;
    const gvk = { "x-kubernetes-group-version-kind": [{ group, version, kind }], ...selectable(custom) };
    if (schema === undefined) return { type: "object", ...gvk };
    return { ...this.#withObjectFields(this.#published(schema)), ...gvk };
  }

  #withObjectFields(schema: JSONObject): JSONObject {
    const metadata = {
      description: describeCommonField("metadata"),
      allOf: [this.type("meta/v1.ObjectMeta")],
    };
    const properties = { ...(schema["properties"] as JSONObject | undefined), ...typeProperties(), metadata };
    return { ...schema, properties };
  }

  /** As published: numbers or texts are alternatives, embedded resources have the fields of objects. */
  #published(schema: JSONObject): JSONObject {
    const below = (value: JSONValue): JSONValue => (isObject(value) ? this.#published(value) : value);
    const { properties, items, additionalProperties, ...rest } = schema;
    let published: JSONObject = {
      ...rest,
      ...(properties === undefined
        ? {}
        : {
            properties: Object.fromEntries(
              Object.entries(properties as JSONObject).map(([name, one]) => [name, below(one)]),
            ),
          }),
      ...(items === undefined ? {} : { items: below(items) }),
      ...(additionalProperties === undefined ? {} : { additionalProperties: below(additionalProperties) }),
    };
    if (schema["x-kubernetes-int-or-string"] === true) published = withAlternatives(published);
    if (schema["x-kubernetes-embedded-resource"] === true) {
      const required = (schema["required"] as readonly string[] | undefined) ?? [];
      const more = ["kind", "apiVersion"].filter((name) => !required.includes(name));
      published = { ...this.#withObjectFields(published), required: [...required, ...more] };
    }
    return published;
  }

  #once(name: string, make: () => JSONObject): JSONObject {
    if (!this.#made.has(name)) {
      // Held before it is made: types may refer to themselves.
      this.#made.set(name, {});
      this.#made.set(name, make());
    }
    return { $ref: reference(name) };
  }

  #struct(struct: StructType): JSONObject {
    const description = describeType(struct.name);
    const described = description === undefined ? {} : { description };
    // One of several JSON types, or any JSON at all: upstream leaves the schema open too.
    if (struct.anyJSON || struct.alternatives !== undefined) return described;
    const gvk = this.#gvk(struct.name);
    const properties = new Map<string, JSONValue>(gvk === undefined ? [] : Object.entries(typeProperties()));
    const required: string[] = [];
    for (const field of struct.fields.values()) {
      if (!isInRelease(this.#release, field.marks)) continue;
      properties.set(field.name, this.#property(struct.name, field));
      if (isRequired(field, this.#release)) required.push(field.name);
    }
    return {
      ...described,
      type: "object",
      ...(required.length > 0 ? { required } : {}),
      ...(properties.size > 0
        ? { properties: Object.fromEntries([...properties].sort(([a], [b]) => (a < b ? -1 : 1))) }
        : {}),
      ...(gvk === undefined ? {} : { "x-kubernetes-group-version-kind": [{ ...gvk }] }),
      ...(this.#atomicTypes.has(struct.name) ? { "x-kubernetes-map-type": "atomic" } : {}),
    };
  }

  #gvk(type: string): GroupVersionKind | undefined {
    const row = this.#kinds.get(type);
    if (row !== undefined) return { group: row.group, version: row.version, kind: row.kind };
    if (!typedMeta.has(type)) return undefined;
    const kind = type.slice(type.lastIndexOf(".") + 1);
    // Options are of the group that they are sent to, all else is of v1 everywhere.
    return kind === "DeleteOptions" ? { ...this.#groupVersion, kind } : { group: "", version: "v1", kind };
  }

  #property(type: string, field: Field): JSONObject {
    const { marks } = field;
    const description = describeField(type, field.name);
    const base = this.#schema(field.type, enumOf(marks.values, this.#release));
    const fallback = defaultOf(field);
    return {
      ...(description === undefined ? {} : { description }),
      ...("$ref" in base ? { allOf: [base] } : base),
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(marks.listMapKeys ? { "x-kubernetes-list-map-keys": marks.listMapKeys } : {}),
      ...(marks.listType ? { "x-kubernetes-list-type": marks.listType } : {}),
      ...mapType(marks.mapType ?? marks.structType),
      ...(marks.patchMergeKey ? { "x-kubernetes-patch-merge-key": marks.patchMergeKey } : {}),
      ...(marks.patchStrategy ? { "x-kubernetes-patch-strategy": marks.patchStrategy } : {}),
    };
  }

  /** `values` are those of the innermost text. */
  #schema(type: FieldType, values: readonly string[] | undefined): JSONObject {
    switch (type.form) {
      case "list":
        return { type: "array", items: this.#element(type.element, values) };
      case "map":
        return { type: "object", additionalProperties: this.#element(type.value, values) };
      case "struct":
        return this.type(type.struct.name);
      case "scalar": {
        const schema = builtins[type.name]?.schema ?? this.shared(type.name as SharedName);
        return values === undefined ? schema : { ...schema, enum: values };
      }
    }
  }

  /** Before 1.37, elements have the default of their type. */
  #element(type: FieldType, values: readonly string[] | undefined): JSONObject {
    const base = this.#schema(type, values);
    const zero = zeroOf(type);
    if (zero === undefined || minorOf(this.#release) >= 37) return base;
    return "$ref" in base ? { allOf: [base], default: zero } : { ...base, default: zero };
  }
}

const isObject = (value: JSONValue | undefined): value is JSONObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const alternatives: readonly JSONObject[] = [{ type: "integer" }, { type: "string" }];

function withAlternatives(schema: JSONObject): JSONObject {
  const isPattern = (anyOf: unknown): boolean => JSON.stringify(anyOf) === JSON.stringify(alternatives);
  const allOf = (schema["allOf"] as readonly JSONObject[] | undefined) ?? [];
  if (isPattern(schema["anyOf"]) || isPattern(allOf[0]?.["anyOf"])) return schema;
  if (schema["anyOf"] === undefined) return { ...schema, anyOf: [...alternatives] };
  return { ...schema, allOf: [{ anyOf: [...alternatives] }, ...allOf] };
}

function reference(name: string): string {
  return `#/components/schemas/${name}`;
}

function typeProperties(): JSONObject {
  return {
    apiVersion: { description: describeCommonField("apiVersion"), type: "string" },
    kind: { description: describeCommonField("kind"), type: "string" },
  };
}

function selectable(custom: CustomSchema | undefined): JSONObject {
  const fields = custom?.selectableFields ?? [];
  if (fields.length === 0) return {};
  return { "x-kubernetes-selectable-fields": fields.map((fieldPath) => ({ fieldPath })) };
}

function mapType(type: string | undefined): JSONObject {
  return type === undefined ? {} : { "x-kubernetes-map-type": type };
}

/**
 * A field with the marker +required; else one that is always written and not optional.
 *
 * Upstream: k8s.io/kube-openapi/pkg/generators/openapi.go, isOptional
 */
function isRequired({ id, marks }: Field, release: string): boolean {
  const releases = requiredIn.get(id);
  if (releases !== undefined) return releases.includes(release);
  return !marks.optional && marks.omit === "never";
}

const requiredIn: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(requiredFields));

function defaultOf({ type, marks }: Field): JSONValue | undefined {
  if (marks.default !== undefined) return tableDefault(type, marks.default);
  if (marks.pointer) return undefined;
  if (type.form === "struct") return zeroOf(type);
  return marks.omit === "never" ? zeroOf(type) : undefined;
}

/** Go's zero value of a field that is not a pointer; undefined for types without a default of their own. */
function zeroOf(type: FieldType): JSONValue | undefined {
  if (type.form === "scalar") return builtins[type.name]?.zero;
  if (type.form !== "struct") return undefined;
  return type.struct.anyJSON || type.struct.alternatives !== undefined ? undefined : {};
}

function tableDefault(type: FieldType, text: string): JSONValue | undefined {
  const value = JSON.parse(text) as JSONValue;
  const fits = typeof value === "object" ? type.form === "struct" : type.form === "scalar";
  return fits ? value : undefined;
}
