import { isInRelease } from "../features/features.ts";
import { type Field, structType } from "../schema/types.ts";
import type { JSONObject } from "./json.ts";

/**
 * The query parameters of an options type: its fields that fit into a query, in the order of
 * their names. Fields behind a feature gate are left out: no gate of options is on by default.
 */
export function queryParameters(
  types: readonly string[],
  release: string,
  without: readonly string[] = [],
): JSONObject[] {
  const fields = new Map<string, Field>();
  for (const type of types) {
    for (const [name, field] of structType(type).fields) fields.set(name, field);
  }
  return [...fields.values()]
    .filter(({ name, marks }) => !without.includes(name) && !marks.featureGate && isInRelease(release, marks))
    .flatMap((field) => {
      const type = queryType(field);
      return type === undefined ? [] : [parameter("query", field.name, type)];
    })
    .sort((a, b) => ((a["name"] as string) < (b["name"] as string) ? -1 : 1));
}

function queryType({ type }: Field): string | undefined {
  // A list is given by repeating the parameter.
  const one = type.form === "list" ? type.element : type;
  if (one.form !== "scalar") return undefined;
  switch (one.name) {
    case "bool":
      return "boolean";
    case "int32":
    case "int64":
      return "integer";
    default:
      return "string";
  }
}

export function pathParameter(name: string): JSONObject {
  return { ...parameter("path", name, "string"), required: true };
}

export const prettyParameter: JSONObject = parameter("query", "pretty", "string");

function parameter(where: string, name: string, type: string): JSONObject {
  return { in: where, name, schema: { type, uniqueItems: true } };
}
