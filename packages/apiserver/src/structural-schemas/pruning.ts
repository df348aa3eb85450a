import {
  additionalOf,
  isContainer,
  isEmbedded,
  isPlain,
  itemsOf,
  metaFields,
  namesFields,
  type Plain,
  preserves,
  propertyOf,
  type Schema,
} from "./schema.ts";

/**
 * Removes unknown fields from an object, in place, and returns their paths in order. Fields that every
 * resource has stay (structural schemas, KEP-2337).
 */
export function prune(object: Plain, schema: Schema | undefined, isRoot: boolean): string[] {
  const unknown: string[] = [];
  const root = isRoot ? { ...schema, "x-kubernetes-embedded-resource": true } : schema;
  pruneValue({ value: object, schema: root, path: "" }, unknown);
  return unknown.sort();
}

interface Place {
  readonly value: unknown;
  readonly schema: Schema | undefined;
  readonly path: string;
}

/** Adds to `unknown`. `inherits`: the value is in a list of preserved values. */
function pruneValue({ value, schema, path }: Place, unknown: string[], inherits = false): void {
  const keeps = inherits || preserves(schema);
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (keeps && items === undefined) return;
    value.forEach((item, index) => {
      pruneValue({ value: item, schema: items, path: `${path}[${index}]` }, unknown, keeps);
    });
    return;
  }
  if (!isPlain(value) || (keeps && !namesFields(schema))) return;
  const embedded = schema !== undefined && isEmbedded(schema);
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`);
  for (const key in value) {
    if (embedded && metaFields.has(key)) continue;
    const field = value[key];
    const named = propertyOf(schema, key);
    if (named !== undefined || schema?.additionalProperties !== undefined) {
      if (isContainer(field))
        pruneValue({ value: field, schema: named ?? additionalOf(schema), path: at(key) }, unknown);
    } else if (!keeps) {
      if (schema === undefined || !metaFields.has(key) || path !== "") unknown.push(at(key));
      delete value[key];
    }
  }
}
