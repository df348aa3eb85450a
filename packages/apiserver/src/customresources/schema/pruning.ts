import {
  additionalOf,
  isEmbedded,
  isPlain,
  itemsOf,
  metaFields,
  type Plain,
  preserves,
  propertyOf,
  type Schema,
} from "./schema.ts";

/**
 * Takes what the schema does not know out of an object, in place, and answers the paths of it in order. Fields of
 * resources that every object has stay (structural schemas, KEP-2337).
 */
export function prune(object: Plain, schema: Schema | undefined, isRoot: boolean): string[] {
  const unknown: string[] = [];
  const root = isRoot ? { ...schema, "x-kubernetes-embedded-resource": true } : schema;
  pruneValue(object, root, "", unknown);
  return unknown.sort();
}

/** `inherits`: the value lies in a list of preserved values. */
function pruneValue(
  value: unknown,
  schema: Schema | undefined,
  path: string,
  unknown: string[],
  inherits = false,
): void {
  const keeps = inherits || preserves(schema);
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (keeps && items === undefined) return;
    value.forEach((item, index) => {
      pruneValue(item, items, `${path}[${index}]`, unknown, keeps);
    });
    return;
  }
  if (!isPlain(value)) return;
  for (const [key, field] of Object.entries(value)) {
    if (schema !== undefined && isEmbedded(schema) && metaFields.has(key)) continue;
    const where = path === "" ? key : `${path}.${key}`;
    const named = propertyOf(schema, key);
    if (named !== undefined) pruneValue(field, named, where, unknown);
    else if (schema?.additionalProperties !== undefined) {
      pruneValue(field, additionalOf(schema), where, unknown);
    } else if (!keeps) {
      if (schema === undefined || !metaFields.has(key) || path !== "") unknown.push(where);
      delete value[key];
    }
  }
}
