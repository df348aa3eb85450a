/** Bodies of nearly the largest size that a request may have, each of another shape. */
import type { KubeObject } from "@dray/api";
import { encodeProtobuf } from "@dray/api/codec";

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
}

/** Bytes of a body: a little less than the limit of 3 MiB. */
const most = 3_100_000;

const json = "application/json";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";
const apply = "application/apply-patch+yaml";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const jsonPatch = "application/json-patch+json";

const namespace = "/api/v1/namespaces/default";
const maps = `${namespace}/configmaps`;

const send = (method: string, url: string, body: unknown, type = json): Sent => ({
  method,
  url,
  type,
  body:
    body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
});

/** As many items as fit into a body. */
function items<T>(item: (index: number) => T, bytes = most): T[] {
  const length = JSON.stringify(item(123_456)).length + 1;
  return Array.from({ length: Math.floor(bytes / length) }, (_, index) => item(index));
}

/** As many keys as fit into a body. */
function map<T>(value: (index: number) => T, bytes = most, key = "k"): Record<string, T> {
  const entries = items((index) => [`${key}${index}`, value(index)] as const, bytes * 1.15);
  return Object.fromEntries(entries);
}

const object = (apiVersion: string, kind: string, rest: object, metadata: object = {}): KubeObject =>
  ({ apiVersion, kind, metadata: { name: "o", ...metadata }, ...rest }) as KubeObject;
const configMap = (rest: object, metadata: object = {}): KubeObject =>
  object("v1", "ConfigMap", rest, metadata);
const pod = (spec: object, metadata: object = {}): KubeObject =>
  object("v1", "Pod", { spec: { containers: [{ name: "c", image: "i" }], ...spec } }, metadata);
const text = "v";

const create = (url: string, body: unknown, type = json, before: readonly Sent[] = []): Case => ({
  before,
  sent: send("POST", url, body, type),
});

const change = (
  url: string,
  first: KubeObject,
  method: string,
  body: unknown,
  type = json,
  query = "",
): Case => ({
  before: [send("POST", url, first)],
  sent: send(method, `${url}/o${query}`, body, type),
});

const applied = (url: string, body: unknown, first?: KubeObject): Case => ({
  before: first === undefined ? [] : [send("POST", url, first)],
  sent: send("PATCH", `${url}/o?fieldManager=f&force=true`, body, apply),
});

const deep = (levels: number, inner: unknown): unknown => {
  let value = inner;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
};

const definition = (properties: object, rest: object = {}): KubeObject =>
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
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const things = "/apis/example.com/v1/namespaces/default/things";
const thing = (rest: object): KubeObject => object("example.com/v1", "Thing", rest);
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
const defined: readonly Sent[] = [send("POST", definitions, definition(schemas))];

/** A megabyte of data in a ConfigMap, which is as large as one may be. */
const full = 1_000_000;
const wide = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, text]));

const yamlOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;
const yamlMap = (key: string, lines: readonly string[]): string =>
  yamlOf(["apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: o", `${key}:`, ...lines]);
const yamlLines = (line: (index: number) => string, bytes = most): string[] =>
  Array.from({ length: Math.floor(bytes / (line(123_456).length + 1)) }, (_, index) => line(index));

const container = (index: number): object => ({ name: `c${index}`, image: "i" });
const variable = (index: number): object => ({ name: `E${index}`, value: "v" });
const deployment = (containers: readonly object[]): KubeObject =>
  object("apps/v1", "Deployment", {
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers } },
    },
  });
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const owner = (index: number): object => ({
  apiVersion: "v1",
  kind: "Pod",
  name: `n${index}`,
  uid: `u${index}`,
});
const managed = (index: number): object => ({
  manager: `m${index}`,
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:data": { [`f:k${index}`]: {} } },
});
const fields = map(() => ({}), most, "f:k");

/** By name, made when they are needed. */
export const cases: Readonly<Record<string, () => Case>> = {
  "ConfigMap, keys": () => create(maps, configMap({ data: map(() => text) })),
  "ConfigMap, keys, 1 MiB": () => create(maps, configMap({ data: map(() => text, full) })),
  "ConfigMap, keys that are wrong": () => create(maps, configMap({ data: map(() => text, most, "k/") })),
  "ConfigMap, one value": () => create(maps, configMap({ data: { a: "x".repeat(most) } })),
  "ConfigMap, a value of escapes": () => create(maps, configMap({ data: { a: "\n".repeat(most / 2) } })),
  "ConfigMap, numbers for texts": () => create(maps, configMap({ data: map((index) => index) })),
  "ConfigMap, binary": () => create(maps, configMap({ binaryData: map(() => "YQ==") })),
  "ConfigMap, labels": () => create(maps, configMap({}, { labels: map(() => text) })),
  "ConfigMap, labels that are wrong": () =>
    create(maps, configMap({}, { labels: map(() => "/", most, "/k") })),
  "ConfigMap, annotations": () => create(maps, configMap({}, { annotations: map(() => text) })),
  "ConfigMap, finalizers": () => create(maps, configMap({}, { finalizers: items((index) => `a/b${index}`) })),
  "ConfigMap, owners": () => create(maps, configMap({}, { ownerReferences: items(owner) })),
  "ConfigMap, managers": () => create(maps, configMap({}, { managedFields: items(managed) })),
  "ConfigMap, fields of a manager": () =>
    create(maps, configMap({}, { managedFields: [{ ...managed(0), fieldsV1: { "f:data": fields } }] })),
  "ConfigMap, unknown fields": () => create(maps, { ...configMap({}), ...map(() => 1, most, "u") }),
  "ConfigMap, repeated keys": () =>
    create(
      maps,
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o"},"data":{${items(() => [0, 0, 0]).map(() => '"k":"v"')}}}`,
    ),
  "ConfigMap, blanks": () =>
    create(maps, `${JSON.stringify(configMap({ data: { a: "b" } }))}${" ".repeat(most - 100)}`),
  "ConfigMap, protobuf, keys": () =>
    create(maps, Buffer.from(encodeProtobuf(configMap({ data: map(() => text, most) }))), protobuf),
  "Secret, keys": () => create(`${namespace}/secrets`, object("v1", "Secret", { data: map(() => "YQ==") })),
  "Pod, containers": () => create(`${namespace}/pods`, pod({ containers: items(container) })),
  "Pod, environment": () =>
    create(`${namespace}/pods`, pod({ containers: [{ name: "c", image: "i", env: items(variable) }] })),
  "Pod, volumes": () =>
    create(`${namespace}/pods`, pod({ volumes: items((index) => ({ name: `v${index}`, emptyDir: {} })) })),
  "Pod, tolerations": () =>
    create(
      `${namespace}/pods`,
      pod({ tolerations: items((index) => ({ key: `k${index}`, operator: "Exists" })) }),
    ),
  "Pod, arguments": () =>
    create(`${namespace}/pods`, pod({ containers: [{ name: "c", image: "i", args: items(() => "a") }] })),
  "Pod, node selector": () => create(`${namespace}/pods`, pod({ nodeSelector: map(() => text) })),
  "Pod, protobuf, containers": () =>
    create(`${namespace}/pods`, Buffer.from(encodeProtobuf(pod({ containers: items(container) }))), protobuf),
  "Service, ports": () =>
    create(
      `${namespace}/services`,
      object("v1", "Service", {
        spec: { ports: items((index) => ({ name: `p${index}`, port: 1 + (index % 65_000) })) },
      }),
    ),
  "EndpointSlice, endpoints": () =>
    create(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
      object("discovery.k8s.io/v1", "EndpointSlice", {
        addressType: "IPv4",
        endpoints: items(() => ({ addresses: ["10.0.0.1"] })),
      }),
    ),
  "Endpoints, addresses": () =>
    create(
      `${namespace}/endpoints`,
      object("v1", "Endpoints", {
        subsets: [
          {
            addresses: items((index) => ({
              ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
            })),
            ports: [{ port: 1 }],
          },
        ],
      }),
    ),
  "Role, rules": () =>
    create(
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      object("rbac.authorization.k8s.io/v1", "ClusterRole", {
        rules: items((index) => ({ apiGroups: [""], resources: [`r${index}`], verbs: ["get"] })),
      }),
    ),
  "ResourceSlice, devices": () =>
    create(
      "/apis/resource.k8s.io/v1/resourceslices",
      object("resource.k8s.io/v1", "ResourceSlice", {
        spec: {
          driver: "d.example.com",
          nodeName: "n",
          pool: { name: "p", resourceSliceCount: 1, generation: 1 },
          devices: items((index) => ({ name: `d${index}`, attributes: { a: { int: 1 } } })),
        },
      }),
    ),
  "ResourceSlice, attributes": () =>
    create(
      "/apis/resource.k8s.io/v1/resourceslices",
      object("resource.k8s.io/v1", "ResourceSlice", {
        spec: {
          driver: "d.example.com",
          nodeName: "n",
          pool: { name: "p", resourceSliceCount: 1, generation: 1 },
          devices: [{ name: "d", attributes: map(() => ({ int: 1 })) }],
        },
      }),
    ),
  "ResourceClaim, requests": () =>
    create(
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
      object("resource.k8s.io/v1", "ResourceClaim", {
        spec: {
          devices: { requests: items((index) => ({ name: `r${index}`, exactly: { deviceClassName: "c" } })) },
        },
      }),
    ),
  "ResourceClaim, selectors": () =>
    create(
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
      object("resource.k8s.io/v1", "ResourceClaim", {
        spec: {
          devices: {
            requests: [
              {
                name: "r",
                exactly: {
                  deviceClassName: "c",
                  selectors: items((index) => ({ cel: { expression: `device.driver == "d${index}"` } })),
                },
              },
            ],
          },
        },
      }),
    ),
  "DeviceClass, one selector": () =>
    create(
      "/apis/resource.k8s.io/v1/deviceclasses",
      object("resource.k8s.io/v1", "DeviceClass", {
        spec: { selectors: [{ cel: { expression: `true${" || true".repeat(most / 8)}` } }] },
      }),
    ),
  "ValidatingAdmissionPolicy, validations": () =>
    create(
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
      object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", {
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] },
            ],
          },
          validations: items((index) => ({ expression: `object.metadata.name != "n${index}"` })),
        },
      }),
    ),
  "ValidatingAdmissionPolicy, 300 KB of validations": () =>
    create(
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
      object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", {
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] },
            ],
          },
          validations: items((index) => ({ expression: `object.metadata.name != "n${index}"` }), 300_000),
        },
      }),
    ),
  "definition, properties": () =>
    create(definitions, definition(map(() => ({ type: "string" }), most * 0.95))),
  "definition, 1 MiB of properties": () =>
    create(definitions, definition(map(() => ({ type: "string" }), full))),
  "definition, rules": () =>
    create(
      definitions,
      definition(
        map(
          () => ({ type: "string", maxLength: 5, "x-kubernetes-validations": [{ rule: "self != 'a'" }] }),
          300_000,
        ),
      ),
    ),
  "custom, keys": () => create(things, thing({ spec: map(() => text) }), json, defined),
  "custom, 1 MiB of keys": () => create(things, thing({ spec: map(() => text, full) }), json, defined),
  "custom, list": () =>
    create(things, thing({ list: items((index) => ({ name: "a", n: index })) }), json, defined),
  "custom, 1 MiB of list": () =>
    create(things, thing({ list: items((index) => ({ name: "a", n: index }), full) }), json, defined),
  "custom, list with keys": () =>
    create(things, thing({ keyed: items((index) => ({ name: `n${index}` })) }), json, defined),
  "custom, set": () => create(things, thing({ set: items((index) => `n${index}`) }), json, defined),
  "custom, depth": () => create(things, thing({ spec: { list: items(() => deep(500, 1)) } }), json, defined),
  "custom, lists of lists": () => create(things, thing({ spec: { list: items(() => []) } }), json, defined),
  "YAML, keys": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: v`),
      ),
      yaml,
    ),
  "YAML, 1 MiB of keys": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: v`, full),
      ),
      yaml,
    ),
  "YAML, anchors": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: &a${index} v`),
      ),
      yaml,
    ),
  "YAML, aliases": () =>
    create(maps, yamlMap("data", ["  k: &a v", ...yamlLines((index) => `  k${index}: *a`)]), yaml),
  "YAML, flow": () =>
    create(maps, yamlMap("data", [` {${yamlLines((index) => `k${index}: v`).join(",")}}`]), yaml),
  "YAML, quoted": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  "k${index}": 'v'`),
      ),
      yaml,
    ),
  "YAML, comments": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines(() => "# a"),
      ),
      yaml,
    ),
  "YAML, literal block": () => create(maps, yamlMap("data", ["  k: |", ...yamlLines(() => "    a")]), yaml),
  "YAML, folded text": () => create(maps, yamlMap("data", ["  k: a", ...yamlLines(() => "    a")]), yaml),
  "YAML, merge keys": () =>
    create(maps, yamlMap("data", ["  k: &a {a: b}", ...yamlLines((index) => `  k${index}: {<<: *a}`)]), yaml),
  "YAML, repeated keys": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines(() => "  k: v"),
      ),
      yaml,
    ),
  "YAML, empty flow lists": () => create(maps, `[${"[],".repeat(most / 3)}]`, yaml),
  "YAML, open flow lists": () => create(maps, "[".repeat(most), yaml),
  "YAML, custom, list": () =>
    create(
      things,
      yamlOf([
        "apiVersion: example.com/v1",
        "kind: Thing",
        "metadata: {name: o}",
        "list:",
        ...yamlLines(() => "- name: a"),
      ]),
      yaml,
      defined,
    ),
  "PUT of keys": () =>
    change(maps, configMap({ data: wide(100) }), "PUT", configMap({ data: map(() => text) })),
  "PUT of 1 MiB of keys on as many": () =>
    change(
      maps,
      configMap({ data: map(() => text, full) }),
      "PUT",
      configMap({ data: map(() => "w", full) }),
    ),
  "JSON patch, operations": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      "PATCH",
      items((index) => ({ op: "add", path: `/data/n${index}`, value: "v" })),
      jsonPatch,
    ),
  "JSON patch, 10,000 operations": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      "PATCH",
      items((index) => ({ op: "add", path: `/data/n${index}`, value: "v" })).slice(0, 9_999),
      jsonPatch,
    ),
  "JSON patch, one large value": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      "PATCH",
      [{ op: "add", path: "/data", value: map(() => text) }],
      jsonPatch,
    ),
  "merge patch, keys": () =>
    change(maps, configMap({ data: wide(100) }), "PATCH", { data: map(() => text) }, merge),
  "merge patch, nulls": () =>
    change(maps, configMap({ data: wide(100) }), "PATCH", { data: map(() => null) }, merge),
  "merge patch, one key of 1 MiB": () =>
    change(maps, configMap({ data: map(() => text, full) }), "PATCH", { data: { k1: "w" } }, merge),
  "strategic patch, keys": () =>
    change(maps, configMap({ data: wide(100) }), "PATCH", { data: map(() => text) }, strategic),
  "strategic patch, containers": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      "PATCH",
      { spec: { template: { spec: { containers: items(container) } } } },
      strategic,
    ),
  "strategic patch, deletions": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      "PATCH",
      {
        spec: {
          template: { spec: { containers: items((index) => ({ $patch: "delete", name: `c${index}` })) } },
        },
      },
      strategic,
    ),
  "strategic patch, variables in order": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      "PATCH",
      {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: "c",
                  env: items(variable, most / 2),
                  "$setElementOrder/env": items((index) => ({ name: `E${index}` }), most / 2),
                },
              ],
            },
          },
        },
      },
      strategic,
    ),
  "strategic patch, finalizers": () =>
    change(
      maps,
      configMap({}),
      "PATCH",
      { metadata: { finalizers: items((index) => `a/b${index}`) } },
      strategic,
    ),
  "apply, keys": () => applied(maps, configMap({ data: map(() => text) })),
  "apply, 1 MiB of keys": () => applied(maps, configMap({ data: map(() => text, full) })),
  "apply, keys on as many": () =>
    applied(maps, configMap({ data: map(() => "w", full) }), configMap({ data: map(() => text, full) })),
  "apply, one key of 1 MiB": () =>
    applied(maps, configMap({ data: { k1: "w" } }), configMap({ data: map(() => text, full) })),
  "apply, variables": () =>
    applied(`${namespace}/pods`, pod({ containers: [{ name: "c", image: "i", env: items(variable) }] })),
  "apply, YAML, keys": () =>
    applied(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: v`),
      ),
    ),
};
