/**
 * What a patch must know of a type: which of the three sorts of JSON values it may be, and how lists and maps are
 * owned and merged. Built-in kinds get theirs from the schema table (`table-schema.ts`), custom resources from the
 * OpenAPI schema of their definition.
 *
 * A value that may be anything has all three. Schemas may refer to themselves.
 */
export interface TypeSchema {
  readonly scalar?: ScalarSort;
  readonly list?: ListSchema;
  readonly map?: MapSchema;
}

export type ScalarSort = "string" | "number" | "boolean" | "any";

/** A list: replaced as a whole, or with elements that are owned one by one. */
export interface ListSchema {
  readonly relation: "atomic" | "set" | "map";
  readonly element: TypeSchema;
  /** Of a `map`: the fields that tell elements apart (`x-kubernetes-list-map-keys`). */
  readonly keys?: readonly string[];
}

/** A struct (`fields`), a map (`element`), or a struct that takes further fields (both). */
export interface MapSchema {
  /** Replaced as a whole (`x-kubernetes-map-type: atomic`). */
  readonly atomic: boolean;
  readonly fields?: ReadonlyMap<string, FieldSchema>;
  /** The type of fields that are not named; none: a field that is not named is an error. */
  readonly element?: TypeSchema;
  /** The type's own name, for messages. */
  readonly name?: string;
}

export interface FieldSchema {
  readonly type: TypeSchema;
  /** What stands there if nothing does: completes the keys of list elements. */
  readonly default?: unknown;
  /** Nobody ever owns it (`metadata.managedFields`). */
  readonly untracked?: true;
  /** Strategic merge: `merge`, `replace`, `retainKeys`. */
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
}

/** The type of a field; undefined where nobody owns it: one that is not declared was written under another schema. */
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
