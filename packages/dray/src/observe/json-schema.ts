/** For tests: validates data by the subset of JSON Schema 2020-12 that the published schemas use. */

export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

/** Returns the violations with their paths; empty for valid data. */
export function violations(root: Schema, data: unknown, schema: Schema = root, path = "$"): string[] {
  if (schema.$ref !== undefined) {
    const found = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
    return found === undefined ? [`${path}: no ${schema.$ref}`] : violations(root, data, found, path);
  }
  if (schema.oneOf !== undefined) {
    const tries = schema.oneOf.map((each) => violations(root, data, each, path));
    return tries.some((found) => found.length === 0)
      ? []
      : (tries.toSorted((a, b) => a.length - b.length)[0] ?? []);
  }
  if (schema.const !== undefined && data !== schema.const)
    return [`${path}: must be ${String(schema.const)}`];
  if (schema.enum !== undefined && !schema.enum.includes(data))
    return [`${path}: ${String(data)} is not in the enum`];
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  const type = typeOf(data);
  if (types !== undefined && !types.includes(type))
    return [`${path}: is ${type}, must be ${types.join(" or ")}`];
  if (Array.isArray(data)) {
    const { items } = schema;
    return items === undefined
      ? []
      : data.flatMap((each, i) => violations(root, each, items, `${path}[${i}]`));
  }
  if (type !== "object") return [];
  const object = data as Readonly<Record<string, unknown>>;
  const missing = (schema.required ?? [])
    .filter((key) => !(key in object))
    .map((key) => `${path}.${key}: missing`);
  const wrong = Object.entries(object).flatMap(([key, value]) => {
    const own = schema.properties?.[key] ?? schema.additionalProperties;
    if (own === false) return [`${path}.${key}: unknown`];
    return own === undefined || own === true ? [] : violations(root, value, own, `${path}.${key}`);
  });
  return [...missing, ...wrong];
}

function typeOf(data: unknown): string {
  if (data === null) return "null";
  if (Array.isArray(data)) return "array";
  return Number.isInteger(data) ? "integer" : typeof data;
}
