/**
 * The parts of a type that patches need: which JSON types its values may have, and how lists and maps are
 * owned and merged. Built-in kinds get theirs from the schema table (`table-schema.ts`), custom resources
 * from the OpenAPI schema of their definition.
 *
 * A value of any type has all three. Schemas may be recursive.
 */
export interface TypeSchema {
  readonly scalar?: ScalarType;
  readonly list?: ListSchema;
  readonly map?: MapSchema;
}

export type ScalarType = "string" | "number" | "boolean" | "any";

/** A list: replaced as a whole, or with individually owned elements. */
export interface ListSchema {
  readonly relation: "atomic" | "set" | "map";
  readonly element: TypeSchema;
  /** For `map`: the fields that identify an element (`x-kubernetes-list-map-keys`). */
  readonly keys?: readonly string[];
}

/** A struct (`fields`), a map (`element`), or a struct that accepts additional fields (both). */
export interface MapSchema {
  /** Replaced as a whole (`x-kubernetes-map-type: atomic`). */
  readonly atomic: boolean;
  readonly fields?: ReadonlyMap<string, FieldSchema>;
  /** The type of additional fields; absent: they are errors. */
  readonly element?: TypeSchema;
  /** The type's own name, for messages. */
  readonly name?: string;
}

export interface FieldSchema {
  readonly type: TypeSchema;
  /** The default of the field: completes the keys of list elements. */
  readonly default?: unknown;
  /** The field is never owned (`metadata.managedFields`). */
  readonly untracked?: true;
  /** Strategic merge: `merge`, `replace`, `retainKeys`. */
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
}

/**
 * Returns the type of a field; undefined if it is not owned: an undeclared field was written under another
 * schema.
 */
export function trackedType({ fields, element }: MapSchema, key: string): TypeSchema | undefined {
  const field = fields?.get(key);
  return field?.untracked ? undefined : (field?.type ?? element);
}

/** Any JSON value, owned as a whole. */
export const atomicValue: TypeSchema = selfElement((self) => ({
  scalar: "any",
  list: { relation: "atomic", element: self },
  map: { atomic: true, element: self },
}));

/** Any JSON value: objects are owned field by field, lists as a whole. */
export const anyValue: TypeSchema = selfElement((self) => ({
  scalar: "any",
  list: { relation: "atomic", element: atomicValue },
  map: { atomic: false, element: self },
}));

function selfElement(build: (self: TypeSchema) => TypeSchema): TypeSchema {
  const self: TypeSchema = {};
  return Object.assign(self, build(self));
}
