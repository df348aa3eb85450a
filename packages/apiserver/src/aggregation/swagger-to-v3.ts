import type { Swagger } from "./swagger-part.ts";

type JSONObject = Readonly<Record<string, unknown>>;

const methods = new Set(["get", "put", "post", "delete", "options", "head", "patch"]);
/** Fields of a parameter that belong to its schema in OpenAPI v3. */
const schemaFields = ["type", "format", "items", "uniqueItems", "enum", "default", "minimum", "maximum"];

/**
 * Converts a part of an OpenAPI v2 document to v3, for back ends that have no v3. Information that v2 cannot
 * express is missing.
 *
 * Upstream: k8s.io/kube-openapi/pkg/openapiconv, ConvertV2ToV3
 */
export function convertedSwagger({ paths = {}, definitions = {} }: Swagger): JSONObject {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "" },
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, convertedPath(item)])),
    components: { schemas: withReferences(definitions) },
  };
}

function convertedPath(item: JSONObject): JSONObject {
  return Object.fromEntries(
    Object.entries(item).map(([key, value]) => {
      if (key === "parameters")
        return [key, (value as JSONObject[]).filter(isNoBody).map(convertedParameter)];
      return [key, methods.has(key) ? convertedOperation(value as JSONObject) : value];
    }),
  );
}

function convertedOperation(operation: JSONObject): JSONObject {
  const { consumes, produces, schemes: _, parameters = [], responses = {}, ...rest } = operation;
  const all = parameters as readonly JSONObject[];
  const body = all.find((parameter) => !isNoBody(parameter));
  const plain = all.filter(isNoBody);
  const answers = Object.entries(responses as Record<string, JSONObject>);
  return {
    ...rest,
    ...(plain.length === 0 ? {} : { parameters: plain.map(convertedParameter) }),
    ...(body === undefined ? {} : { requestBody: requestBody(body, types(consumes)) }),
    responses: Object.fromEntries(
      answers.map(([code, answer]) => [code, convertedResponse(answer, types(produces))]),
    ),
  };
}

const isNoBody = ({ in: place }: JSONObject): boolean => place !== "body";
const types = (value: unknown): readonly string[] => (value as string[] | undefined) ?? ["*/*"];

function convertedParameter(parameter: JSONObject): JSONObject {
  const isOfSchema = ([key]: readonly [string, unknown]): boolean => schemaFields.includes(key);
  const entries = Object.entries(parameter);
  return {
    ...Object.fromEntries(entries.filter((entry) => !isOfSchema(entry))),
    schema: withReferences(Object.fromEntries(entries.filter(isOfSchema))),
  };
}

function requestBody({ schema, required, description }: JSONObject, media: readonly string[]): JSONObject {
  return {
    content: content(schema, media),
    ...(required === undefined ? {} : { required }),
    ...(description === undefined ? {} : { description }),
  };
}

function convertedResponse({ schema, ...rest }: JSONObject, media: readonly string[]): JSONObject {
  return schema === undefined ? rest : { ...rest, content: content(schema, media) };
}

function content(schema: unknown, media: readonly string[]): JSONObject {
  const converted = withReferences(schema);
  return Object.fromEntries(media.map((type) => [type, { schema: converted }]));
}

function withReferences(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withReferences);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "$ref" && typeof item === "string"
        ? item.replace("#/definitions/", "#/components/schemas/")
        : withReferences(item),
    ]),
  );
}
