import type { JSONObject, JSONValue } from "./json.ts";

/**
 * Type of a field of the model: the name of a message, a wrapper, or a scalar. `any` is any value, as YAML
 * text.
 */
type Kind =
  | "string"
  | "boolean"
  | "integer"
  | "number"
  | "any"
  | keyof typeof messages
  | keyof typeof wrappers;
type FieldOf<K> = readonly [number: number, kind: K, form?: "list"];
interface MessageOf<K> {
  readonly fields: Readonly<Record<string, FieldOf<K>>>;
  /** Number of the field for names that begin with `x-`. */
  readonly extensions?: number;
  /** Field for all other names, each with a value of this kind. */
  readonly named?: FieldOf<K>;
}

/** The messages of the model `openapi.v2` that a server's document uses, with the numbers of their fields. */
const messages = {
  Document: {
    fields: {
      swagger: [1, "string"],
      info: [2, "Info"],
      paths: [8, "Paths"],
      definitions: [9, "Schemas"],
      security: [12, "SecurityRequirement", "list"],
      securityDefinitions: [13, "SecurityDefinitions"],
    },
  },
  Info: { fields: { title: [1, "string"], version: [2, "string"] } },
  Paths: { fields: {}, named: [2, "PathItem"] },
  PathItem: {
    fields: {
      get: [2, "Operation"],
      put: [3, "Operation"],
      post: [4, "Operation"],
      delete: [5, "Operation"],
      options: [6, "Operation"],
      head: [7, "Operation"],
      patch: [8, "Operation"],
      parameters: [9, "ParametersItem", "list"],
    },
  },
  Operation: {
    fields: {
      tags: [1, "string", "list"],
      description: [3, "string"],
      operationId: [5, "string"],
      produces: [6, "string", "list"],
      consumes: [7, "string", "list"],
      parameters: [8, "ParametersItem", "list"],
      responses: [9, "Responses"],
      schemes: [10, "string", "list"],
    },
    extensions: 13,
  },
  BodyParameter: {
    fields: {
      description: [1, "string"],
      name: [2, "string"],
      in: [3, "string"],
      required: [4, "boolean"],
      schema: [5, "Schema"],
    },
  },
  QueryParameter: {
    fields: {
      required: [1, "boolean"],
      in: [2, "string"],
      description: [3, "string"],
      name: [4, "string"],
      type: [6, "string"],
      format: [7, "string"],
      uniqueItems: [20, "boolean"],
    },
  },
  PathParameter: {
    fields: {
      required: [1, "boolean"],
      in: [2, "string"],
      description: [3, "string"],
      name: [4, "string"],
      type: [5, "string"],
      format: [6, "string"],
      uniqueItems: [19, "boolean"],
    },
  },
  Responses: { fields: {}, named: [1, "ResponseValue"] },
  Response: { fields: { description: [1, "string"], schema: [2, "SchemaItem"] } },
  Schemas: { fields: {}, named: [1, "Schema"] },
  Schema: {
    fields: {
      $ref: [1, "string"],
      format: [2, "string"],
      title: [3, "string"],
      description: [4, "string"],
      multipleOf: [6, "number"],
      maximum: [7, "number"],
      exclusiveMaximum: [8, "boolean"],
      minimum: [9, "number"],
      exclusiveMinimum: [10, "boolean"],
      maxLength: [11, "integer"],
      minLength: [12, "integer"],
      pattern: [13, "string"],
      maxItems: [14, "integer"],
      minItems: [15, "integer"],
      uniqueItems: [16, "boolean"],
      maxProperties: [17, "integer"],
      minProperties: [18, "integer"],
      required: [19, "string", "list"],
      enum: [20, "any", "list"],
      additionalProperties: [21, "AdditionalProperties"],
      type: [22, "StringList"],
      items: [23, "SchemaItem"],
      properties: [25, "Schemas"],
      externalDocs: [29, "ExternalDocs"],
      example: [30, "any"],
    },
    extensions: 31,
  },
  ExternalDocs: { fields: { description: [1, "string"], url: [2, "string"] } },
  SecurityRequirement: { fields: {}, named: [1, "StringList"] },
  SecurityDefinitions: { fields: {}, named: [1, "SecurityDefinition"] },
  ApiKey: {
    fields: { type: [1, "string"], name: [2, "string"], in: [3, "string"], description: [4, "string"] },
  },
} as const satisfies Record<string, MessageOf<string>>;

/** Messages that only say which of several kinds a value is, or that it is a list. */
const wrappers = {
  ParametersItem: (value: JSONValue): Buffer => {
    const where = (value as JSONObject)["in"];
    if (where === "body") return field(1, field(1, encode("BodyParameter", value)));
    const other =
      where === "path" ? field(4, encode("PathParameter", value)) : field(3, encode("QueryParameter", value));
    return field(1, field(2, other));
  },
  ResponseValue: (value: JSONValue): Buffer => field(1, encode("Response", value)),
  SchemaItem: (value: JSONValue): Buffer => field(1, encode("Schema", value)),
  AdditionalProperties: (value: JSONValue): Buffer =>
    typeof value === "boolean" ? scalar(2, "boolean", value) : field(1, encode("Schema", value)),
  StringList: (value: JSONValue): Buffer =>
    Buffer.concat([value].flat().map((text) => field(1, Buffer.from(text as string)))),
  SecurityDefinition: (value: JSONValue): Buffer => field(2, encode("ApiKey", value)),
} as const;

/**
 * A Swagger 2.0 document in the binary form that kubectl and client-go ask for
 * (`application/com.github.proto-openapi.spec.v2@v1.0+protobuf`): the model of gnostic, package openapi.v2.
 */
export function swaggerProtobuf(document: JSONObject): Uint8Array {
  return encode("Document", document);
}

function encode(kind: Kind, value: JSONValue): Buffer {
  if (Object.hasOwn(wrappers, kind)) return wrappers[kind as keyof typeof wrappers](value);
  const message: MessageOf<Kind> = messages[kind as keyof typeof messages];
  return Buffer.concat(
    Object.entries(value as JSONObject).map(([name, one]) => {
      const known = message.fields[name];
      if (known !== undefined) return encodeField(known, one);
      if (name.startsWith("x-") && message.extensions !== undefined) {
        return field(message.extensions, named(name, any(one)));
      }
      if (message.named === undefined) return Buffer.alloc(0);
      const [number, valueKind] = message.named;
      return field(number, named(name, encode(valueKind, one)));
    }),
  );
}

/** A name with its value, which is written even if it is empty. */
const named = (name: string, value: Buffer): Buffer =>
  Buffer.concat([field(1, Buffer.from(name)), field(2, value)]);

/** Encodes a value outside the model: as YAML, which JSON is. */
const any = (value: JSONValue): Buffer => field(2, Buffer.from(`${JSON.stringify(value)}\n`));

function encodeField([number, kind, form]: FieldOf<Kind>, value: JSONValue): Buffer {
  if (form === "list") {
    return Buffer.concat((value as readonly JSONValue[]).map((one) => encodeField([number, kind], one)));
  }
  switch (kind) {
    case "string":
      return field(number, Buffer.from(value as string));
    case "boolean":
    case "integer":
    case "number":
      return scalar(number, kind, value);
    case "any":
      return field(number, any(value));
    default:
      return field(number, encode(kind, value));
  }
}

function scalar(number: number, kind: "boolean" | "integer" | "number", value: JSONValue): Buffer {
  if (kind !== "number") return Buffer.concat([varint(number << 3), varint(Number(value))]);
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value as number);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
