/** Makes requests with bodies of nearly the largest size that one may have. */
import type { KubeObject } from "@dray/api";

/** A request of the benchmark. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly type: string;
  readonly body: Uint8Array;
}

export interface Case {
  /** Requests that go before, whose answers must be good. */
  readonly before: readonly Sent[];
  readonly sent: Sent;
  /** How many of it are sent at once; default 1. */
  readonly times?: number;
}

/** Bytes of a body: a little less than the limit of 3 MiB. */
export const most = 3_100_000;

export const json = "application/json";
export const yaml = "application/yaml";
export const protobuf = "application/vnd.kubernetes.protobuf";
export const apply = "application/apply-patch+yaml";
export const merge = "application/merge-patch+json";
export const strategic = "application/strategic-merge-patch+json";
export const jsonPatch = "application/json-patch+json";

export const namespace = "/api/v1/namespaces/default";
export const maps = `${namespace}/configmaps`;

export const send = (method: string, url: string, body: unknown, type = json): Sent => ({
  method,
  url,
  type,
  body:
    body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
});

/** As many items as fit into a body. */
export function items<T>(item: (index: number) => T, bytes = most): T[] {
  const length = JSON.stringify(item(123_456)).length + 1;
  return Array.from({ length: Math.floor(bytes / length) }, (_, index) => item(index));
}

/** As many keys as fit into a body. */
export function map<T>(value: (index: number) => T, bytes = most, key = "k"): Record<string, T> {
  const entries = items((index) => [`${key}${index}`, value(index)] as const, bytes * 1.15);
  return Object.fromEntries(entries);
}

export const object = (apiVersion: string, kind: string, rest: object, metadata: object = {}): KubeObject =>
  ({ apiVersion, kind, metadata: { name: "o", ...metadata }, ...rest }) as KubeObject;
export const configMap = (rest: object, metadata: object = {}): KubeObject =>
  object("v1", "ConfigMap", rest, metadata);
export const pod = (spec: object, metadata: object = {}): KubeObject =>
  object("v1", "Pod", { spec: { containers: [{ name: "c", image: "i" }], ...spec } }, metadata);
export const text = "v";

export const create = (url: string, body: unknown, type = json, before: readonly Sent[] = []): Case => ({
  before,
  sent: send("POST", url, body, type),
});

export const change = (
  url: string,
  first: KubeObject,
  {
    method,
    type = json,
    query = "",
    before = [],
  }: {
    readonly method: string;
    readonly type?: string;
    readonly query?: string;
    readonly before?: readonly Sent[];
  },
  body: unknown,
): Case => ({
  before: [...before, send("POST", url, first)],
  sent: send(method, `${url}/o${query}`, body, type),
});

export const applied = (url: string, body: unknown, first?: KubeObject): Case => ({
  before: first === undefined ? [] : [send("POST", url, first)],
  sent: send("PATCH", `${url}/o?fieldManager=f&force=true`, body, apply),
});

export const deep = (levels: number, inner: unknown): unknown => {
  let value = inner;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
};

export const definition = (properties: object, rest: object = {}): KubeObject =>
  object(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    {
      spec: {
        group: "example.com",
        names: { kind: "Thing", plural: "things", singular: "thing", listKind: "ThingList" },
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", properties, ...rest } },
          },
        ],
      },
    },
    { name: "things.example.com" },
  );
export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const things = "/apis/example.com/v1/namespaces/default/things";
export const thing = (rest: object): KubeObject => object("example.com/v1", "Thing", rest);
const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const schemas = {
  spec: free,
  list: {
    type: "array",
    items: { type: "object", properties: { name: { type: "string" }, n: { type: "integer" } } },
  },
  keyed: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
  },
  set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
};
export const defined: readonly Sent[] = [send("POST", definitions, definition(schemas))];

/** A megabyte of data in a ConfigMap, which is as large as one may be. */
export const full = 1_000_000;
/** So much that its managedFields fit into the store beside it. */
export const half = 500_000;
export const wide = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, text]));

export const yamlOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;
export const yamlMap = (key: string, lines: readonly string[]): string =>
  yamlOf(["apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: o", `${key}:`, ...lines]);
export const yamlLines = (line: (index: number) => string, bytes = most): string[] =>
  Array.from({ length: Math.floor(bytes / (line(123_456).length + 1)) }, (_, index) => line(index));

export const container = (index: number): object => ({ name: `c${index}`, image: "i" });
export const variable = (index: number): object => ({ name: `E${index}`, value: "v" });
export const deployment = (containers: readonly object[]): KubeObject =>
  object("apps/v1", "Deployment", {
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers } },
    },
  });
export const deployments = "/apis/apps/v1/namespaces/default/deployments";
export const owner = (index: number): object => ({
  apiVersion: "v1",
  kind: "Pod",
  name: `n${index}`,
  uid: `u${index}`,
});
export const managed = (index: number): object => ({
  manager: `m${index}`,
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:data": { [`f:k${index}`]: {} } },
});
export const fields = map(() => ({}), most, "f:k");
