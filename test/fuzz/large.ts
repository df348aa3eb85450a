import type { Random } from "@dray/testing/random";
import type { Sent } from "./target.ts";

const json = "application/json";
const apply = "application/apply-patch+yaml";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const jsonPatch = "application/json-patch+json";

/**
 * Bytes of a body: near what etcd takes of an object, for a request has to be over in a second of a slow
 * machine.
 */
const most = 1_000_000;

const list = <T>(length: number, item: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => item(index));
const map = <T>(length: number, value: (index: number) => T, key = "k"): Record<string, T> =>
  Object.fromEntries(list(length, (index) => [`${key}${index}`, value(index)]));

const headers = { accept: json, "user-agent": "fuzz/1" };

function send(method: string, url: string, body?: unknown, contentType = json): Sent {
  if (body === undefined) return { method, url, headers };
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return { method, url, headers: { ...headers, "content-type": contentType }, body: bytes };
}

const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, rest: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...rest,
});
const pods = "/api/v1/namespaces/default/pods";
const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const deployment = (name: string, containers: readonly object[]): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers } },
  },
});

const read = (url: string): Sent[] =>
  [
    json,
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
  ].map((accept) => ({ method: "GET", url, headers: { ...headers, accept } }));

type Shape = (random: Random, size: number) => Sent[];

/** Many operations of a JSON patch. */
const operations: Shape = (random, size) => {
  const count = Math.min(9_999, size);
  const [at, value] = ["/data/k0", "v"];
  const each = random.pick([
    (index: number) => ({ op: "add", path: `/data/n${index}`, value }),
    () => ({ op: "test", path: at, value }),
    () => ({ op: "replace", path: at, value }),
    () => ({ op: "copy", from: "/data", path: "/metadata/annotations" }),
    (index: number) => ({ op: "move", from: `/data/k${index}`, path: `/data/k${index + 1}` }),
    (index: number) => ({ op: "remove", path: `/data/k${index}` }),
    () => ({ op: "add", path: "/metadata/finalizers/-", value: "a/b" }),
    () => ({ op: "add", path: "/metadata/finalizers/0", value: "a/b" }),
    () => ({ op: "add", path: `/data${"/a".repeat(200)}`, value }),
    (index: number) => ({
      op: "add",
      path: "/metadata/annotations",
      value: map(1 + (index % 20), () => "v"),
    }),
  ]);
  const object = configMap("operations", { data: map(1000, () => "v") });
  return [
    send("POST", configMaps, { ...object, metadata: { name: "operations", finalizers: ["a/b"] } }),
    send("PATCH", `${configMaps}/operations`, list(count, each), jsonPatch),
    send("PATCH", `${configMaps}/operations`, [{ op: "remove", path: "/metadata/finalizers" }], jsonPatch),
    send("DELETE", `${configMaps}/operations`, {}),
  ];
};

/** Strategic merge patches of long lists with keys and with directives. */
const directives: Shape = (random, size) => {
  const count = Math.min(size, 4000);
  const container = (index: number): object => ({ name: `c${index}`, image: "i" });
  const env = (index: number): object => ({ name: `E${index}`, value: "v" });
  const inSpec = random.pick([
    { containers: list(count, container) },
    { containers: list(count, (index) => ({ $patch: "delete", name: `c${index}` })) },
    {
      containers: list(count, container),
      "$setElementOrder/containers": list(count, (index) => ({ name: `c${count - index}` })),
    },
    { containers: [{ name: "c0", env: list(count, env), "$setElementOrder/env": list(count, env) }] },
    { containers: [{ name: "c0", env: list(count, () => ({ name: "E", value: "v" })) }] },
    { $retainKeys: list(count, (index) => `k${index}`) },
    { "$deleteFromPrimitiveList/finalizers": list(count, (index) => `k${index}`) },
    { containers: [{ $patch: "replace" }, ...list(count, container)] },
  ]);
  const patch = { spec: { template: { spec: inSpec } } };
  return [
    send(
      "POST",
      deployments,
      deployment(
        "directives",
        list(random.pick([1, 300]), (index) => ({ name: `c${index}`, image: "i", env: list(10, env) })),
      ),
    ),
    send("PATCH", `${deployments}/directives`, patch, strategic),
    send("PATCH", `${deployments}/directives`, patch, strategic),
    send("DELETE", `${deployments}/directives`, {}),
  ];
};

/** Many managers that each apply fields of their own, and all the same ones. */
const managers: Shape = (random, size) => {
  const count = 3 + random.below(40);
  const each = Math.min(2000, Math.ceil(size / count));
  const shared = random.chance(0.5);
  return [
    ...list(count, (manager) =>
      send(
        "PATCH",
        `${configMaps}/managers?fieldManager=m${manager}${random.chance(0.8) ? "&force=true" : ""}`,
        configMap("managers", { data: map(each, () => `${manager}`, shared ? "k" : `m${manager}k`) }),
        apply,
      ),
    ),
    send(
      "PATCH",
      `${configMaps}/managers?fieldManager=last`,
      configMap("managers", { data: map(each, () => "x") }),
      apply,
    ),
    send("PUT", `${configMaps}/managers`, configMap("managers", { data: map(each, () => "x") })),
    ...read(configMaps),
    send("DELETE", `${configMaps}/managers`, {}),
  ];
};

/** Applied lists and sets that are long, or hold one element often. */
const applied: Shape = (random, size) => {
  const same = random.chance(0.3);
  const name = (index: number): string => (same ? "n" : `n${index}`);
  const count = Math.min(size, 20_000);
  const object = random.pick([
    pod("applied", {
      containers: list(Math.min(count, 2000), (index) => ({ name: name(index), image: "i" })),
    }),
    pod("applied", { volumes: list(count, (index) => ({ name: name(index), emptyDir: {} })) }),
    pod("applied", { tolerations: list(count, (index) => ({ key: name(index) })) }),
    pod("applied", {
      containers: [
        { name: "c", image: "i", env: list(count, (index) => ({ name: name(index), value: "v" })) },
      ],
    }),
    pod("applied", {
      containers: [
        {
          name: "c",
          image: "i",
          ports: list(count, (index) => ({ containerPort: 1 + (same ? 0 : index % 60_000) })),
        },
      ],
    }),
    pod("applied", {}, { finalizers: list(count, (index) => `a/${name(index)}`) }),
    pod(
      "applied",
      {},
      {
        ownerReferences: list(count, (index) => ({
          apiVersion: "v1",
          kind: "Pod",
          name: "p",
          uid: name(index),
        })),
      },
    ),
    pod("applied", {}, { labels: map(count, () => "v"), annotations: map(count, () => "v") }),
    pod(
      "applied",
      {},
      { managedFields: list(count, (index) => ({ manager: name(index), operation: "Update" })) },
    ),
    pod(
      "applied",
      map(count, () => ({})),
    ),
  ]);
  return [
    send("POST", `${pods}?fieldValidation=${random.pick(["Strict", "Warn", "Ignore"])}`, object),
    send("PATCH", `${pods}/applied?fieldManager=f&force=true`, object, apply),
    send("PATCH", `${pods}/applied?fieldManager=g`, object, apply),
    send("PATCH", `${pods}/applied`, object, random.pick([merge, strategic])),
    ...read(pods),
    send("DELETE", `${pods}/applied`, { gracePeriodSeconds: 0 }),
  ];
};

/** Selectors and other parameters as long as a URL of HTTP/2 may be. */
const selectors: Shape = (random, size) => {
  const values = list(Math.min(size, 10_000), (index) => `v${index}`).join(",");
  const query = random.pick([
    `labelSelector=${encodeURIComponent(`a in (${values})`)}`,
    `labelSelector=${encodeURIComponent(`a notin (${values})`)}`,
    `labelSelector=${encodeURIComponent(values)}`,
    `labelSelector=${encodeURIComponent(`!${values.replaceAll(",", ",!")}`)}`,
    `labelSelector=${encodeURIComponent("(".repeat(30_000))}`,
    `labelSelector=${encodeURIComponent(" ".repeat(60_000))}a`,
    `labelSelector=${"a".repeat(60_000)}`,
    `fieldSelector=${encodeURIComponent(list(5000, () => "metadata.name=a").join(","))}`,
    `fieldSelector=${encodeURIComponent("\\".repeat(50_001))}`,
    `fieldSelector=${encodeURIComponent(`metadata.name=${"\\,".repeat(20_000)}`)}`,
    `continue=${"A".repeat(60_000)}`,
    `resourceVersion=${"9".repeat(60_000)}`,
    `limit=${"9".repeat(60_000)}`,
    `timeoutSeconds=${"9".repeat(60_000)}&watch=1`,
    `timeout=${"1h".repeat(30_000)}`,
    list(10_000, (index) => `p${index}=${index}`).join("&"),
    list(10_000, () => "labelSelector=a").join("&"),
    `${"%".repeat(30_000)}=1`,
    "&".repeat(60_000),
  ]);
  const path = random.pick([configMaps, pods, "/api/v1/pods", "/apis/apps/v1/deployments"]);
  return [
    ...list(20, (index) =>
      send(
        "POST",
        configMaps,
        configMap(`s${index}`, { metadata: { name: `s${index}`, labels: { a: `v${index}` } } }),
      ),
    ),
    send("GET", `${path}?${query}`),
    send("GET", `${path}?${query}&watch=true&timeoutSeconds=1`),
    send("DELETE", `${configMaps}?${query}`, {}),
    send("DELETE", configMaps, {}),
  ];
};

/** A body of one shape all through. */
const full: Shape = (random) => {
  const inYAML = random.chance(0.5);
  const repeat = (piece: string): string => piece.repeat(Math.floor(most / piece.length));
  const body = random.pick([
    `[${repeat("1,")}1]`,
    `[${repeat("{},")}{}]`,
    `[${repeat("[],")}[]]`,
    `{"a":"${repeat("\\u0041")}"}`,
    `{"a":"${repeat("é")}"}`,
    `{${repeat('"a":1,')}"a":1}`,
    `{"metadata":{"name":"${repeat("a")}"}}`,
    `{"metadata":{"labels":{"${repeat("a")}":"${"b".repeat(1000)}"}}}`,
    JSON.stringify(configMap("full", { data: map(most / 14, () => "v") })),
    JSON.stringify(configMap("full", { data: { a: repeat("a") } })),
    JSON.stringify(configMap("full", { data: { a: repeat("\n") } })),
    JSON.stringify(configMap("full", { binaryData: { a: repeat("AAAA") } })),
    JSON.stringify(
      configMap(
        "full",
        map(most / 14, () => 1),
      ),
    ),
    JSON.stringify({ ...configMap("full"), metadata: { name: "full", labels: map(most / 14, () => "v") } }),
    JSON.stringify({
      ...configMap("full"),
      metadata: { name: "full", finalizers: list(most / 12, (index) => `a/${index}`) },
    }),
    JSON.stringify(pod("full", { tolerations: list(most / 24, (index) => ({ key: `k${index}` })) })),
    JSON.stringify(
      pod("full", { containers: list(most / 40, (index) => ({ name: `c${index}`, image: "i" })) }),
    ),
    JSON.stringify(pod("full", { containers: list(most / 4, () => ({})) })),
    JSON.stringify(pod("full", { nodeSelector: map(most / 14, () => "-") })),
    repeat(" "),
    repeat("\n"),
    repeat("a: 1\n"),
    repeat("- 1\n"),
    repeat("x"),
    repeat("&a "),
    repeat("*a "),
    repeat("{a: "),
    `a: |\n${repeat(" x\n\n")}`,
    `a: "${repeat("x\n")}"`,
  ]);
  const url = random.pick([configMaps, pods]);
  const target = `${url}/full`;
  return [
    ...(inYAML
      ? [
          send("POST", url, body, "application/yaml"),
          send("PATCH", `${target}?fieldManager=f&force=true`, body, apply),
          send("PUT", target, body, "application/yaml"),
        ]
      : [
          send("POST", url, body),
          send("PATCH", target, body, random.pick([merge, strategic, jsonPatch])),
          send("PUT", target, body),
        ]),
    ...read(target),
    send("DELETE", target, body),
    send("DELETE", `${target}?gracePeriodSeconds=0`, {}),
  ];
};

/** Policies whose expressions cost much, or say much. */
const policies: Shape = (random, size) => {
  const name = `p${random.below(1_000_000)}`;
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE"],
    resources: ["configmaps"],
  };
  const long = Math.min(size, 3000);
  const expression = random.pick([
    "object.data.all(k, object.data.all(l, k != l || true))",
    "object.data.a.split('').all(a, object.data.a.split('').all(b, a + b != 'x'))",
    "object.data.a.matches('^(a|a)*$')",
    "object.data.a.matches('(.*)(.*)(.*)(.*)(.*)[b]')",
    "object.data.a.replace('a', 'aaaaaaaaaa').replace('a', 'aaaaaaaaaa').size() > 0",
    "object.data.a.findAll('a').size() > 0",
    "object.data.a.findAll('a*').size() > 0",
    "object.data.a.split('').join(',').size() > 0",
    "object.data.a.lowerAscii().upperAscii().reverse().contains('b')",
    "object.data.a.split('').sort() == []",
    "object.data.a.split('').isSorted()",
    "object.data.a.indexOf('aab') >= 0 || object.data.a.lastIndexOf('baa') >= 0",
    "quantity(object.data.a).isGreaterThan(quantity('1'))",
    "url(object.data.a).getHost() == ''",
    "isURL(object.data.a) || isIP(object.data.a) || isCIDR(object.data.a)",
    "semver(object.data.a).major() > 1",
    "duration(object.data.a) > duration('1s') || timestamp(object.data.a) > timestamp('2020-01-01T00:00:00Z')",
    "int(object.data.a) > 1 || double(object.data.a) > 1.0",
    "format.dns1123Label().validate(object.data.a).hasValue()",
    "('%s'.format([object.data.a]) + '%s'.format([object])).size() > 0",
    "base64.encode(bytes(object.data.a)).size() > 0",
    `${"(".repeat(random.pick([10, 200, 5000]))}true${")".repeat(random.pick([10, 200, 5000]))}`,
    `${"!".repeat(long)}true`,
    `${"true && ".repeat(long)}true`,
    `[${"1,".repeat(long)}1].all(x, x > 0)`,
    `object${".a".repeat(long)} == 1`,
    `'${"a".repeat(long)}' == ''`,
    `${"[".repeat(long)}${"]".repeat(long)} == []`,
    `true${" ? true : true".repeat(long)}`,
    `1${" + 1".repeat(long)} > 0`,
    `cel.bind(x, object, ${"cel.bind(x, x, ".repeat(20)}x${")".repeat(20)}) != null`,
  ]);
  const spec = {
    failurePolicy: random.pick(["Fail", "Ignore"]),
    matchConstraints: { resourceRules: [rule] },
    validations: list(random.pick([1, 1, 20]), () => ({
      expression,
      ...(random.chance(0.3) ? { messageExpression: "object.data.a" } : {}),
    })),
    ...(random.chance(0.2)
      ? { variables: list(50, (index) => ({ name: `v${index}`, expression: "object.data.a" })) }
      : {}),
  };
  const at = "/apis/admissionregistration.k8s.io/v1";
  const text = random
    .pick(["a", "1", "a.", "1h", "/", "9", "%41", "-"])
    .repeat(random.pick([10, 1000, 30_000, 300_000]));
  return [
    send("POST", `${at}/validatingadmissionpolicies`, { metadata: { name }, spec }),
    send("POST", `${at}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: random.pick([["Deny"], ["Warn", "Audit"]]) },
    }),
    send(
      "POST",
      `${configMaps}?dryRun=All`,
      configMap("p", { data: { a: text, ...map(random.pick([1, 1000]), () => "v") } }),
    ),
    send("DELETE", `${at}/validatingadmissionpolicybindings/${name}`, {}),
    send("DELETE", `${at}/validatingadmissionpolicies/${name}`, {}),
  ];
};

const shapes: readonly Shape[] = [operations, directives, managers, applied, selectors, full, policies];

/**
 * Requests of a size that nobody means, of which each part is what many have: the time must not grow with its
 * square.
 */
export function largeRequests(random: Random): Sent[] {
  return random.pick(shapes)(random, random.pick([100, 1000, 5000, 10_000]));
}
