import type { Random } from "@dray/testing/random";
import { encodeYAML } from "../../packages/apiserver/src/yaml/emit.ts";
import { changedText, mutated } from "./mutate.ts";
import type { Sent } from "./target.ts";

const group = "fuzz.example.com";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface Schema {
  readonly [key: string]: unknown;
}

/** A definition with a schema of its own, objects that more or less fit it, and its end. */
export function customResources(random: Random): Sent[] {
  return random.chance(0.2) ? largeObjects(random) : smallObjects(random);
}

function smallObjects(random: Random): Sent[] {
  const plural = `things${random.below(1_000_000)}`;
  const schema = { type: "object", properties: { spec: objectOf(random), status: objectOf(random) } };
  const definition = definitionOf(random, plural, schema);
  const body = random.chance(0.2) ? mutated(random, definition) : definition;
  const path = `/apis/${group}/v1/namespaces/default/${plural}`;
  const objects = Array.from({ length: 1 + random.below(5) }, (_, index): Sent[] => {
    const object = {
      apiVersion: `${group}/v1`,
      kind: "Thing",
      metadata: { name: `o${index}` },
      spec: sample(random, schema.properties.spec),
    };
    const made = random.chance(0.5) ? mutated(random, object) : object;
    return [
      send("POST", path, made, random.chance(0.2) ? "application/yaml" : "application/json"),
      send(
        "PATCH",
        `${path}/o${index}${random.pick(["", "", "/status", "/scale"])}`,
        { spec: sample(random, schema.properties.spec) },
        "application/merge-patch+json",
      ),
      send(
        "PATCH",
        `${path}/o${index}?fieldManager=f&force=true`,
        mutated(random, object, random.below(2)),
        "application/apply-patch+yaml",
      ),
      { method: "GET", url: path, headers: { accept: random.pick(accepts) } },
    ];
  }).flat();
  return [
    send("POST", definitions, body),
    established(plural),
    ...objects,
    { method: "GET", url: `/openapi/v3/apis/${group}/v1`, headers: { accept: "application/json" } },
    send("DELETE", `${definitions}/${plural}.${group}`, {}),
  ];
}

/** A version that never comes is waited for: so long it takes until the definition is established. */
const established = (plural: string): Sent => ({
  method: "GET",
  url: `${definitions}/${plural}.${group}?resourceVersion=999999999`,
  headers: { accept: "application/json" },
});

const texts = { type: "string", pattern: "^(a+)+$|^(.*a){12}$" };
const costly = [
  "self.all(x, self.exists(y, x == y))",
  "self.all(x, x.matches('^(a+)+$'))",
  "self.map(x, x + x).size() > 0",
  "self.join('').size() > 1",
];
/** A schema for whatever grows: what its checks and rules cost must not grow faster. */
const largeSchema = (random: Random): Schema => ({
  type: "object",
  properties: {
    set: { type: "array", "x-kubernetes-list-type": "set", items: texts },
    keyed: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: {
        type: "object",
        required: ["k"],
        properties: { k: { type: "string" }, v: { type: "integer", default: 1 } },
      },
    },
    chosen: {
      type: "array",
      items: { type: "string", enum: Array.from({ length: 1000 }, (_, index) => `e${index}`) },
    },
    ruled: {
      type: "array",
      maxItems: 5000,
      items: { type: "string", maxLength: 20 },
      "x-kubernetes-validations": [{ rule: random.pick(costly) }],
    },
    text: texts,
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    whole: { type: "integer" },
    formatted: {
      type: "string",
      format: random.pick([
        "email",
        "hostname",
        "uri",
        "date-time",
        "duration",
        "byte",
        "creditcard",
        "isbn",
        "cidr",
        "ipv6",
      ]),
    },
  },
});

/** Objects with one field that is very large, in all ways of writing them. */
function largeObjects(random: Random): Sent[] {
  const plural = `things${random.below(1_000_000)}`;
  const path = `/apis/${group}/v1/namespaces/default/${plural}`;
  const list = <T>(length: number, item: (index: number) => T): T[] =>
    Array.from({ length }, (_, index) => item(index));
  const piece = random.pick(["a", "a.", "-", "@", "1h", "0", ":", "%", "<"]);
  const specs: readonly (() => object | string)[] = [
    () => ({ set: list(8000, (index) => `a${index}`) }),
    () => ({ set: list(8000, () => "a") }),
    () => ({ keyed: list(10_000, (index) => ({ k: `k${index % random.pick([1, 10_000])}` })) }),
    () => ({ chosen: list(8000, (index) => `e${index % 1000}`) }),
    () => ({ ruled: list(5000, (index) => `${"a".repeat(15)}${index % 7}`) }),
    () => ({ text: `${"a".repeat(50_000)}!` }),
    () => ({ formatted: piece.repeat(50_000) }),
    () => Object.fromEntries(list(8000, (index) => [`x${index}`, index])),
    () => `{"open":${'{"a":'.repeat(3000)}1${"}".repeat(3000)}}`,
    () => `{"open":{"a":${"[".repeat(9000)}${"]".repeat(9000)}}}`,
    () => `{"whole":${"9".repeat(100_000)}}`,
    () => `{"open":{"a":${"9".repeat(100_000)}}}`,
  ];
  const spec = random.pick(specs)();
  const text = typeof spec === "string" ? spec : JSON.stringify(spec);
  const object = `{"apiVersion":"${group}/v1","kind":"Thing","metadata":{"name":"o"},"spec":${text}}`;
  const raw = (method: string, url: string, type: string): Sent => ({
    ...send(method, url, {}, type),
    body: Buffer.from(object),
  });
  const written = random.chance(0.5)
    ? [raw("POST", path, "application/json"), raw("PATCH", `${path}/o`, "application/merge-patch+json")]
    : list(2, () => raw("PATCH", `${path}/o?fieldManager=f&force=true`, "application/apply-patch+yaml"));
  return [
    send(
      "POST",
      definitions,
      definitionOf(random, plural, { type: "object", properties: { spec: largeSchema(random) } }),
    ),
    established(plural),
    ...written,
    ...accepts.map((accept): Sent => ({ method: "GET", url: path, headers: { accept } })),
    send("DELETE", `${definitions}/${plural}.${group}`, {}),
  ];
}

const accepts = ["application/json", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io"];

function send(method: string, url: string, body: unknown, type = "application/json"): Sent {
  const asText = type === "application/yaml" && typeof body === "object" && body !== null;
  return {
    method,
    url,
    headers: { accept: "application/json", "content-type": type, "user-agent": "fuzz/1" },
    body: Buffer.from(asText ? encodeYAML(body) : JSON.stringify(body)),
  };
}

function definitionOf(random: Random, plural: string, schema: Schema): object {
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    ...(random.chance(0.5) ? { subresources: { status: {}, ...scaleOf(random) } } : {}),
    ...(random.chance(0.2) ? { additionalPrinterColumns: [column(random)] } : {}),
    ...(random.chance(0.2)
      ? { selectableFields: [{ jsonPath: random.pick([".spec.a", ".spec", "spec.a"]) }] }
      : {}),
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: plural.slice(0, -1), kind: "Thing", listKind: "ThingList" },
      versions: [version],
    },
  };
}

function scaleOf(random: Random): object {
  if (random.chance(0.8)) return {};
  return {
    scale: { specReplicasPath: random.pick([".spec.a", ".spec.a.b", "x"]), statusReplicasPath: ".status.a" },
  };
}

function column(random: Random): object {
  const jsonPath = random.pick([
    ".spec.a",
    ".spec.b[0]",
    ".spec..a",
    ".metadata.creationTimestamp",
    changedText(random, ".spec.a[*].b"),
  ]);
  return { name: "A", type: random.pick(["string", "integer", "date", "number", "boolean"]), jsonPath };
}

const names = ["a", "b", "c", "namespace", "__proto__", "k-x", "a.b", "in"];
const rules = [
  "self.a == oldSelf.a",
  "has(self.a)",
  "self.all(x, x == x)",
  "size(self) < 10",
  "self == self",
  "self.matches('^a+$')",
  "oldSelf == self",
  "self.b.exists(x, x.a > 1)",
  "quantity(self).isGreaterThan(quantity('1'))",
  "optionalOldSelf.hasValue()",
];

function schemaOf(random: Random, depth: number): Schema {
  const type = depth <= 0 ? random.pick(scalars) : random.pick(["object", "object", "array", ...scalars]);
  return {
    type,
    ...(random.chance(0.1) ? { nullable: true } : {}),
    ...(random.chance(0.08) ? { "x-kubernetes-validations": [ruleOf(random)] } : {}),
    ...detailsOf(random, type, depth),
  };
}

const objectOf = (random: Random): Schema => ({ type: "object", ...objectDetails(random, 3) });

const scalars = ["string", "integer", "number", "boolean"];

function ruleOf(random: Random): object {
  const rule = random.pick(rules);
  return {
    rule: random.chance(0.3) ? changedText(random, rule) : rule,
    ...(random.chance(0.3) ? { message: "no" } : {}),
    ...(random.chance(0.2) ? { messageExpression: "'no: ' + string(self)" } : {}),
    ...(random.chance(0.2) ? { fieldPath: random.pick([".a", ".a.b", "['k-x']", "x"]) } : {}),
    ...(random.chance(0.2) ? { optionalOldSelf: true } : {}),
  };
}

function detailsOf(random: Random, type: string, depth: number): Schema {
  switch (type) {
    case "object":
      return objectDetails(random, depth);
    case "array":
      return {
        items: schemaOf(random, depth - 1),
        ...(random.chance(0.3) ? { maxItems: random.below(20) } : {}),
        ...(random.chance(0.2)
          ? { "x-kubernetes-list-type": random.pick(["atomic", "atomic", "set", "map"]) }
          : {}),
        ...(random.chance(0.1) ? { "x-kubernetes-list-map-keys": [random.pick(names)] } : {}),
        ...(random.chance(0.04) ? { default: random.pick([[], [1], null]) } : {}),
      };
    case "string":
      return {
        ...(random.chance(0.2) ? { maxLength: random.below(30) } : {}),
        ...(random.chance(0.2)
          ? { pattern: random.pick(["^a*$", "(", "(a+)+$", "\\d{1,1000}", "[[:alpha:]]"]) }
          : {}),
        ...(random.chance(0.2)
          ? { format: random.pick(["date-time", "ipv4", "uuid", "byte", "x", "duration"]) }
          : {}),
        ...(random.chance(0.2) ? { enum: ["a", "b"] } : {}),
        ...(random.chance(0.04) ? { default: random.pick(["a", 1, null]) } : {}),
      };
    default:
      return {
        ...(random.chance(0.2) ? { minimum: random.pick([0, -1, 1.5, 1e30]) } : {}),
        ...(random.chance(0.1) ? { multipleOf: random.pick([0, 0.1, 3]) } : {}),
        ...(random.chance(0.04) ? { default: random.pick([0, "a", 1.5]) } : {}),
      };
  }
}

function objectDetails(random: Random, depth: number): Schema {
  if (random.chance(0.2))
    return { additionalProperties: random.chance(0.2) ? true : schemaOf(random, depth - 1) };
  const own = Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [random.pick(names), schemaOf(random, depth - 1)]),
  );
  return {
    properties: own,
    ...(random.chance(0.2) ? { required: [random.pick(names)] } : {}),
    ...(random.chance(0.1) ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    ...(random.chance(0.05) ? { "x-kubernetes-embedded-resource": true } : {}),
    ...(random.chance(0.04) ? { default: random.pick([{}, { a: 1 }, null]) } : {}),
    ...(random.chance(0.1) ? { oneOf: [{ required: ["a"] }, { properties: { b: { minimum: 1 } } }] } : {}),
  };
}

/** A value that the schema allows, more or less. */
function sample(random: Random, schema: unknown): unknown {
  const { type, properties, items, additionalProperties } = (schema ?? {}) as {
    readonly type?: string;
    readonly properties?: Schema;
    readonly items?: Schema;
    readonly additionalProperties?: unknown;
  };
  if (random.chance(0.05)) return random.pick([null, "x", 1, [], {}, true]);
  switch (type) {
    case "object": {
      const entries = Object.entries(properties ?? {}).filter(() => random.chance(0.8));
      const own = entries.map(([name, each]) => [name, sample(random, each)] as const);
      const more =
        additionalProperties === undefined
          ? []
          : [[random.pick(names), sample(random, additionalProperties)] as const];
      return Object.fromEntries([...own, ...more]);
    }
    case "array":
      return Array.from({ length: random.below(4) }, () => sample(random, items));
    case "string":
      return random.pick(["", "a", "b", "aaaa", "2020-01-01T00:00:00Z", "10.0.0.1", "x".repeat(40)]);
    case "boolean":
      return random.chance(0.5);
    default:
      return random.pick([0, 1, -1, 7, 1.5, 2 ** 40]);
  }
}
