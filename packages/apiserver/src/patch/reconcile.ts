import { copyOf } from "../json/values.ts";
import { below, canonicalSets, type FieldSet, type FieldSetBuilder, leaf } from "./field-set.ts";
import { type Managed, withFields } from "./managed-fields.ts";
import type { ObjectType } from "./object-type.ts";
import { anyValue, type TypeSchema } from "./type-schema.ts";

/**
 * Returns the entries adapted to the current schemas: fields that have become atomic since an entry was
 * written are owned as a whole, entries of versions that are not served any more are dropped.
 */
export function reconcile(managed: Managed, type: ObjectType): Managed {
  const result: Managed = new Map();
  for (const [key, entry] of managed) {
    const { apiVersion } = entry;
    const schema = apiVersion === type.apiVersion ? type.schema : type.inVersion?.(apiVersion)?.type.schema;
    if (schema !== undefined) result.set(key, withFields(entry, wholeWhereAtomic(entry.fields, schema)));
  }
  return result;
}

/** Sets of many objects that are known to fit, by schema. */
const fitting = new WeakMap<FieldSet, TypeSchema>();

function wholeWhereAtomic(set: FieldSet, schema: TypeSchema): FieldSet {
  if (fitting.get(set) === schema) return set;
  let result: FieldSetBuilder | undefined;
  for (const element in set) {
    const inner = below(set, element);
    if (inner === undefined) continue;
    const type = typeBelow(schema, element);
    if (type === undefined || type === anyValue) continue;
    const node = isAtomic(type) ? leaf : wholeWhereAtomic(inner, type);
    if (node === inner) continue;
    result ??= copyOf(set) as FieldSetBuilder;
    result[element] = node as FieldSetBuilder;
  }
  if (result === undefined && canonicalSets.has(set)) fitting.set(set, schema);
  return result ?? set;
}

function typeBelow(schema: TypeSchema, element: string): TypeSchema | undefined {
  if (schema.map === undefined) return schema.list?.element;
  return schema.map.fields?.get(element.slice(2))?.type ?? schema.map.element;
}

function isAtomic(type: TypeSchema): boolean {
  return type.map === undefined ? type.list?.relation === "atomic" : type.map.atomic;
}
