import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import type { Answer } from "../../../testing/server.ts";
import { applies, createConfigMap, createDeployment, patches, rule, serverWith } from "./testing.ts";

const by = "policy 'p0' with binding 'p0' denied request";

/** The answer to the creation of a Deployment under a policy with these mutations. */
async function deployed(...mutations: object[]): Promise<Answer> {
  const tested = await serverWith([{ mutations }]);
  const created = await createDeployment(tested);
  await tested.server.close();
  return created;
}

async function mapped(more: object, ...mutations: object[]): Promise<Answer> {
  const tested = await serverWith([{ mutations }]);
  const created = await createConfigMap(tested, "c", more);
  await tested.server.close();
  return created;
}

const inPod = (fields: string): object =>
  applies(
    `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{${fields}}}}}`,
  );
const container = (fields: string): string => `Object.spec.template.spec.containers{${fields}}`;

describe("ApplyConfiguration", () => {
  test("merges lists by their keys, and maps by theirs", async () => {
    const created = await deployed(
      inPod(
        `containers: [${container("name: 'b', image: 'new'")}, ${container("name: 'c', image: 'third'")}]`,
      ),
      applies("Object{metadata: Object.metadata{labels: {'x': 'y'}}}"),
    );
    assert.equal(created.status, 201, created.body.message);
    const containers = created.body.spec.template.spec.containers;
    assert.deepEqual(
      containers.map(({ name, image }: { name: string; image: string }) => `${name} ${image}`),
      ["a nginx", "b new", "c third"],
    );
    assert.equal(containers[2].imagePullPolicy, "Always");
    assert.deepEqual(created.body.metadata.labels, { x: "y" });
  });

  test("adds to what an item of a list has", async () => {
    const env = "Object.spec.template.spec.containers.env{name: 'Y', value: '2'}";
    const created = await deployed(inPod(`containers: [${container(`name: 'a', env: [${env}]`)}]`));
    assert.deepEqual(created.body.spec.template.spec.containers[0].env, [
      { name: "X", value: "1" },
      { name: "Y", value: "2" },
    ]);
  });

  test("sets fields that are reserved words", async () => {
    const claimRef = "Object.spec.claimRef{namespace: 'n', name: object.metadata.name}";
    const tested = await serverWith([
      {
        mutations: [applies(`Object{spec: Object.spec{claimRef: ${claimRef}}}`)],
        matchConstraints: { resourceRules: [{ ...rule, resources: ["persistentvolumes"] }] },
      },
    ]);
    const created = await tested.call("POST", "/api/v1/persistentvolumes", {
      body: {
        metadata: { name: "v" },
        spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/v" } },
      },
    });
    assert.equal(created.status, 201, created.body.message);
    assert.deepEqual(created.body.spec.claimRef, { namespace: "n", name: "v" });
    await tested.server.close();
  });

  test("is refused where it does not fit the schema, or would replace what is owned as a whole", async () => {
    const untyped = "error applying patch: failed to convert patch object to typed object";
    const atomic =
      "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs";
    const cases: readonly [object, string][] = [
      [
        applies("Object{spec: Object.spec{replica: 1}}"),
        `${untyped}: .spec.replica: field not declared in schema`,
      ],
      [
        applies("Object{spec: Object.spec{replicas: 'x'}}"),
        `${untyped}: .spec.replicas: expected numeric (int or float), got string`,
      ],
      [
        applies("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'l': 'r'}}}}"),
        `${atomic}: .spec.selector`,
      ],
      [
        inPod(`containers: [${container("name: 'a', args: ['x']")}]`),
        `${atomic}: .spec.template.spec.containers[0].args`,
      ],
      [
        inPod(`containers: [${container("name: 'z'")}, ${container("name: 'z'")}]`),
        `${untyped}: .spec.template.spec.containers: duplicate entries for key [name="z"]`,
      ],
      [
        inPod("containers: [{'name': 'z'}]"),
        `${untyped}: .spec.template.spec.containers: element 0: associative list with keys may not have non-map elements`,
      ],
      [
        applies("Object{spec: Object.spec{replicas: null}}"),
        `${untyped}: .spec.replicas: expected numeric (int or float), got structpb.NullValue`,
      ],
      [
        applies("Object{metadata: Object.metadata{creationTimestamp: 'x'}}"),
        'unable to convert unstructured object to apps/v1, Kind=Deployment: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
      ],
      [applies("Object{spec: null}"), `${untyped}: .spec: expected map, got &{NULL_VALUE}`],
      [
        applies("Object{metadata: Object.metadata{labels: {'a': b'x'}}}"),
        `${untyped}: .metadata.labels.a: expected string, got &value.valueUnstructured{Value:[]uint8{0x78}}`,
      ],
      [
        applies("Object{spec: Object.specs{}}"),
        'type mismatch: unexpected type name "Object.specs", expected "Object.spec", which matches field name path from root Object type',
      ],
    ];
    for (const [mutation, text] of cases) {
      const refused = await deployed(mutation);
      assert.equal(refused.status, 403);
      assert.equal(refused.body.message, `${by}: ${text}`);
    }
  });
});

describe("ApplyConfiguration of custom resources", () => {
  test("changes custom resources by the schema of their definition", async () => {
    const tested = await serverWith([
      {
        matchConstraints: {
          resourceRules: [{ ...rule, apiGroups: ["example.com"], resources: ["widgets"] }],
        },
        mutations: [
          applies("Object{spec: Object.spec{parts: [Object.spec.parts{name: 'b', size: 2}]}}"),
          patches("[JSONPatch{op: 'add', path: '/spec/color', value: 'red'}]"),
        ],
      },
    ]);
    const string = { type: "string" };
    const parts = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name"],
        properties: { name: string, size: { type: "integer" }, unit: { ...string, default: "mm" } },
      },
    };
    const spec = { type: "object", properties: { parts, color: string } };
    const version = {
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
    };
    const defined = await tested.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      body: {
        metadata: { name: "widgets.example.com" },
        spec: {
          group: "example.com",
          scope: "Namespaced",
          names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
          versions: [version],
        },
      },
    });
    assert.equal(defined.status, 201, defined.body.message);
    const url = "/apis/example.com/v1/namespaces/n/widgets";
    const body = {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "w" },
      spec: { parts: [{ name: "a" }] },
    };
    const created = await eventually("the kind is served", async () => {
      const answer = await tested.call("POST", url, { body });
      return answer.status !== 404 && answer;
    });
    assert.equal(created.status, 201, created.body.message);
    assert.deepEqual(created.body.spec, {
      parts: [
        { name: "a", unit: "mm" },
        { name: "b", size: 2, unit: "mm" },
      ],
      color: "red",
    });
    await tested.server.close();
  });
});

describe("JSONPatch", () => {
  const operation = (fields: string): object => patches(`[JSONPatch{${fields}}]`);

  test("changes the object operation by operation", async () => {
    const created = await mapped(
      { data: { a: "1", b: "2" } },
      patches(
        "[JSONPatch{op: 'remove', path: '/data/a'}, JSONPatch{op: 'move', from: '/data/b', path: '/data/c'}, JSONPatch{op: 'add', path: '/metadata/labels', value: Object.metadata.labels{x: object.data.b}}, JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a.io/b'), value: 'c'}]",
      ),
    );
    assert.deepEqual(created.body.data, { c: "2" });
    assert.deepEqual(created.body.metadata.labels, { x: "2", "a.io/b": "c" });
  });

  test("may leave nothing of a map, and take the kind away, which is known", async () => {
    const created = await mapped(
      { metadata: { name: "c", labels: { a: "b" } } },
      patches(
        "[JSONPatch{op: 'remove', path: '/metadata/labels/a'}, JSONPatch{op: 'remove', path: '/kind'}]",
      ),
      applies("Object{metadata: Object.metadata{annotations: {}}}"),
    );
    assert.equal(created.status, 201, created.body.message);
    const { kind, metadata } = created.body;
    assert.deepEqual([kind, metadata.labels, metadata.annotations], ["ConfigMap", undefined, undefined]);
  });

  test("is left out where a test of it fails", async () => {
    const test = (value: string): object =>
      patches(
        `[JSONPatch{op: 'test', path: '/data/a', value: '${value}'}, JSONPatch{op: 'remove', path: '/data/a'}]`,
      );
    const data = { a: "1", b: "2" };
    assert.deepEqual((await mapped({ data }, test("9"))).body.data, data);
    assert.deepEqual((await mapped({ data }, test("1"))).body.data, { b: "2" });
  });

  test("is a failure where an operation does not apply", async () => {
    const missing = "missing value";
    const cases: readonly [fields: string, text: string][] = [
      [
        "op: 'remove', path: '/data/x'",
        `error in remove for path: '/data/x': Unable to remove nonexistent key: x: ${missing}`,
      ],
      [
        "op: 'add', path: '/nope/x', value: 1",
        `add operation does not apply: doc is missing path: "/nope/x": ${missing}`,
      ],
      [
        "op: 'replace', path: '/nope/x', value: 1",
        `replace operation does not apply: doc is missing path: /nope/x: ${missing}`,
      ],
      [
        "op: 'copy', from: '/nope/y', path: '/data/x'",
        `copy operation does not apply: doc is missing from path: /nope/y: ${missing}`,
      ],
      ["op: 'nope', path: '/data'", "Unexpected kind: nope"],
    ];
    for (const [fields, text] of cases) {
      const refused = await mapped({ data: { a: "1" } }, operation(fields));
      assert.equal(refused.status, 403);
      assert.equal(refused.body.message, `${by}: JSON Patch: ${text}`);
    }
  });

  test("that makes something unreadable is an error, whatever the failure policy", async () => {
    const tested = await serverWith([
      { failurePolicy: "Ignore", mutations: [operation("op: 'add', path: '/nope', value: 1")] },
    ]);
    const refused = await createConfigMap(tested);
    assert.equal(refused.status, 500);
    assert.equal(
      refused.body.message,
      'Internal error occurred: strict decoding error: unknown field "nope"',
    );
    await tested.server.close();
  });
});
