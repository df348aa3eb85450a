import { type CustomKind, customDefinition } from "./custom-definition.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { JSONObject, JSONValue } from "./json.ts";
import { sharedNames } from "./names.ts";
import { securitySchemes } from "./security.ts";

/**
 * All documents of a server as one of Swagger 2.0, which older clients read (`/openapi/v2`): its schemas have
 * no alternatives and no defaults, a schema that may be null or hold anything is open, and a reference may
 * have a description beside it. `customKinds` are all custom resources in the documents.
 */
export function swaggerDocument(
  documents: readonly OpenAPIDocument[],
  kubernetesVersion: string,
  customKinds: readonly CustomKind[] = [],
): JSONObject {
  const paths = new Map<string, JSONObject>();
  const definitions = new Map<string, JSONObject>();
  for (const document of documents) {
    for (const [path, item] of Object.entries(document.paths)) paths.set(path, pathItem(item as JSONObject));
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const made = definition(name, schema as JSONObject);
      const known = definitions.get(name);
      definitions.set(name, known === undefined ? made : withKinds(known, made));
    }
  }
  for (const kind of customKinds) definitions.set(kind.custom.name, customDefinition(kind));
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: kubernetesVersion },
    paths: sorted(paths),
    definitions: sorted(definitions),
    securityDefinitions: securitySchemes,
    security: [{ BearerToken: [] }],
  };
}

const sorted = (entries: ReadonlyMap<string, JSONObject>): JSONObject =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));

const kindsKey = "x-kubernetes-group-version-kind";

/** Types of all groups, as the options of a deletion, have the kinds of all documents. */
function withKinds(known: JSONObject, more: JSONObject): JSONObject {
  const kinds = [known, more].flatMap((schema) => (schema[kindsKey] ?? []) as readonly JSONValue[]);
  if (kinds.length === 0) return known;
  const unique = new Map(kinds.map((kind) => [JSON.stringify(kind), kind]));
  return { ...known, [kindsKey]: [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind) };
}

/** The types that are a number or a text: here they are a text of a format. */
const texts: Readonly<Record<string, JSONObject>> = {
  [sharedNames.Quantity]: { type: "string" },
  [sharedNames.IntOrString]: { type: "string", format: "int-or-string" },
};

function definition(name: string, schema: JSONObject): JSONObject {
  const description = schema["description"];
  const text = texts[name];
  if (text === undefined) return plainSchema(schema);
  return { ...(description === undefined ? {} : { description }), ...text };
}

const dropped = new Set(["allOf", "oneOf", "anyOf", "not", "nullable", "default"]);

function plainSchema(schema: JSONObject): JSONObject {
  const referred = referenceOf(schema);
  if (referred !== undefined) {
    const { description } = schema;
    return { ...(description === undefined ? {} : { description }), $ref: referred };
  }
  const made: { [key: string]: JSONValue } = {};
  for (const [key, value] of Object.entries(schema)) if (!dropped.has(key)) made[key] = part(key, value);
  return made;
}

function part(key: string, value: JSONValue): JSONValue {
  if (key === "properties") {
    return Object.fromEntries(
      Object.entries(value as JSONObject).map(([name, one]) => [name, plainSchema(one as JSONObject)]),
    );
  }
  const isSchema = key === "items" || key === "additionalProperties";
  return isSchema && typeof value === "object" ? plainSchema(value as JSONObject) : value;
}

/** A reference is alone in the newer form: with a description it is the only one of `allOf`. */
function referenceOf(schema: JSONObject): string | undefined {
  const all = schema["allOf"] as readonly JSONObject[] | undefined;
  const found = schema["$ref"] ?? (all?.length === 1 ? all[0]!["$ref"] : undefined);
  return (found as string | undefined)?.replace("#/components/schemas/", "#/definitions/");
}

function pathItem(item: JSONObject): JSONObject {
  return Object.fromEntries(
    Object.entries(item).map(([key, value]) => [
      key,
      key === "parameters" ? parameters(value) : operation(value as JSONObject),
    ]),
  );
}

function operation({ requestBody, parameters: own, responses, ...rest }: JSONObject): JSONObject {
  const body = requestBody as JSONObject | undefined;
  const consumed = Object.entries((body?.["content"] ?? {}) as JSONObject);
  const schema = consumed.length === 0 ? undefined : (consumed[0]![1] as JSONObject)["schema"];
  const bodyParameter: JSONObject[] =
    schema === undefined
      ? []
      : [
          {
            in: "body",
            name: "body",
            ...(body?.["required"] === true ? { required: true } : {}),
            schema: plainSchema(schema as JSONObject),
          },
        ];
  const ok = (responses as JSONObject)["200"] as JSONObject;
  const all = [...bodyParameter, ...(own === undefined ? [] : parameters(own))];
  return {
    ...rest,
    consumes: consumed.length === 0 ? ["*/*"] : consumed.map(([form]) => form),
    produces: Object.keys((ok["content"] ?? {}) as JSONObject),
    schemes: ["https"],
    ...(all.length === 0 ? {} : { parameters: all }),
    responses: Object.fromEntries(
      Object.entries(responses as JSONObject).map(([code, one]) => [code, response(one as JSONObject)]),
    ),
  };
}

function response({ content, ...rest }: JSONObject): JSONObject {
  const first = Object.values((content ?? {}) as JSONObject)[0] as JSONObject | undefined;
  return first === undefined ? rest : { ...rest, schema: plainSchema(first["schema"] as JSONObject) };
}

function parameters(list: JSONValue): JSONObject[] {
  return (list as readonly JSONObject[]).map(({ schema, ...rest }) => ({
    ...rest,
    ...(schema as JSONObject),
  }));
}
