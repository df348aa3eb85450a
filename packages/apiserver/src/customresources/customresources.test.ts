import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { type Answer, type CallOptions, type TestServer, testServer } from "../testing/server.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const applyPatch = { "content-type": "application/apply-patch+yaml" };

interface DefinitionOptions {
  readonly schema?: object;
  readonly names?: object;
  readonly version?: object;
  readonly versions?: readonly object[];
}

/** Returns a definition of widgets in a group of its own. */
function widgets(group: string, { schema, names, version, versions }: DefinitionOptions = {}): object {
  const openAPIV3Schema = {
    type: "object",
    properties: { spec: schema ?? { type: "object", properties: { size: { type: "integer" } } } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", ...names },
      versions: versions ?? [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, ...version },
      ],
    },
  };
}

let tested: TestServer;
const call = (method: string, url: string, options?: CallOptions): Promise<Answer> =>
  tested.call(method, url, options);

before(async () => {
  tested = await testServer();
  await tested.namespace("n");
});
after(() => tested.server.close());

async function until(url: string, holds: (answer: Answer) => boolean): Promise<Answer> {
  return eventually(url, async () => {
    const answer = await call("GET", url);
    return holds(answer) && answer;
  });
}

const condition = (answer: Answer, type: string): { status: string; reason: string } | undefined =>
  answer.body.status?.conditions?.find((one: { type: string }) => one.type === type);

/** Creates a definition of widgets and waits until it is served; returns the path of the collection. */
async function define(group: string, options?: DefinitionOptions, version = "v1"): Promise<string> {
  const answer = await call("POST", definitions, { body: widgets(group, options) });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  await until(`/apis/${group}/${version}`, ({ status }) => status === 200);
  return `/apis/${group}/${version}/namespaces/n/widgets`;
}

const widget = (group: string, spec: object, name = "a", version = "v1"): object => ({
  apiVersion: `${group}/${version}`,
  kind: "Widget",
  metadata: { name },
  spec,
});

suite("custom resources", () => {
  test("a definition is established, served and discovered, and deleted with its objects", async () => {
    const group = "life.example.com";
    const path = await define(group);
    const found = await until(
      `${definitions}/widgets.${group}`,
      (answer) => condition(answer, "Established")?.status === "True",
    );
    assert.equal(condition(found, "NamesAccepted")?.reason, "NoConflicts");
    assert.deepEqual(found.body.status.acceptedNames, {
      plural: "widgets",
      singular: "widget",
      kind: "Widget",
      listKind: "WidgetList",
    });
    const { resources } = (await call("GET", `/apis/${group}/v1`)).body;
    assert.deepEqual(
      resources.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
      [["widgets", "Widget"]],
    );
    const held = { ...widget(group, {}), metadata: { name: "a", finalizers: ["example.com/hold"] } };
    assert.equal((await call("POST", path, { body: held })).status, 201);
    await call("DELETE", `${definitions}/widgets.${group}`);
    await until(`${path}/a`, ({ body }) => body.metadata.deletionTimestamp !== undefined);
    const late = await call("POST", path, { body: widget(group, {}, "late") });
    assert.equal(late.status, 403);
    assert.match(late.body.message, /custom resource definition is terminating/);
    await call("PATCH", `${path}/a`, { body: { metadata: { finalizers: null } } });
    await until(`${definitions}/widgets.${group}`, ({ status }) => status === 404);
    const gone = await until(path, ({ status }) => status === 404);
    assert.equal(gone.body, "404 page not found\n");
  });

  test("the second definition with a name is not accepted until the first is gone", async () => {
    const group = "names.example.com";
    await define(group);
    const rival = widgets(group, { names: { plural: "gadgets", shortNames: ["g"] } }) as {
      metadata: { name: string };
    };
    rival.metadata.name = `gadgets.${group}`;
    await call("POST", definitions, { body: rival });
    const refused = await until(
      `${definitions}/gadgets.${group}`,
      (answer) => condition(answer, "NamesAccepted") !== undefined,
    );
    assert.equal(condition(refused, "NamesAccepted")?.reason, "ListKindConflict");
    assert.equal(condition(refused, "Established")?.status, "False");
    assert.equal((await call("GET", `/apis/${group}/v1/gadgets`)).status, 404);
    await call("DELETE", `${definitions}/widgets.${group}`);
    await until(`/apis/${group}/v1/gadgets`, ({ status }) => status === 200);
  });
});

suite("schemas of custom resources", () => {
  test("unknown fields are pruned, or rejected by strict validation; defaults are filled in", async () => {
    const group = "fields.example.com";
    const path = await define(group, {
      schema: {
        type: "object",
        default: {},
        properties: {
          size: { type: "integer", default: 3 },
          free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    });
    const body = widget(group, { color: "red", free: { any: [1] } });
    const strict = await call("POST", `${path}?fieldValidation=Strict`, { body });
    assert.equal(strict.status, 400);
    assert.match(strict.body.message, /strict decoding error: unknown field "spec\.color"$/);
    const made = await call("POST", path, { body });
    assert.deepEqual(made.body.spec, { size: 3, free: { any: [1] } });
    assert.deepEqual(made.headers["warning"], ['299 - "unknown field \\"spec.color\\""']);
    const bare = { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name: "bare" } };
    assert.deepEqual((await call("POST", path, { body: bare })).body.spec, { size: 3 });
  });

  test("stored objects are decoded with the current schema", async () => {
    const group = "today.example.com";
    const path = await define(group);
    await call("POST", path, { body: widget(group, { size: 1 }) });
    const schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    await call("PATCH", `${definitions}/widgets.${group}`, {
      headers: { "content-type": "application/json-patch+json" },
      body: [{ op: "add", path: `${schema}/color`, value: { type: "string", default: "red" } }],
    });
    const read = await until(`${path}/a`, ({ body }) => body.spec.color !== undefined);
    assert.deepEqual(read.body.spec, { size: 1, color: "red" });
    assert.equal(read.body.metadata.generation, 1);
  });

  test("values and rules are validated; existing violations may stay", async () => {
    const group = "rules.example.com";
    const path = await define(group, {
      schema: {
        type: "object",
        properties: { size: { type: "integer", maximum: 9 }, least: { type: "integer" } },
        "x-kubernetes-validations": [
          { rule: "!has(self.least) || self.size >= self.least", message: "too small" },
          { rule: "self.size >= oldSelf.size", message: "must not shrink" },
        ],
      },
    });
    const large = await call("POST", path, { body: widget(group, { size: 10 }) });
    assert.equal(large.status, 422);
    assert.deepEqual(large.body.details.causes, [
      {
        reason: "FieldValueInvalid",
        message: "Invalid value: 10: spec.size in body should be less than or equal to 9",
        field: "spec.size",
      },
    ]);
    const small = await call("POST", path, { body: widget(group, { size: 1, least: 2 }) });
    assert.match(small.body.message, /spec: Invalid value: too small$/);
    assert.equal((await call("POST", path, { body: widget(group, { size: 5 }) })).status, 201);
    const shrunk = await call("PATCH", `${path}/a`, { body: { spec: { size: 4 } } });
    assert.match(shrunk.body.message, /spec: Invalid value: must not shrink$/);
    assert.equal((await call("PATCH", `${path}/a`, { body: { spec: { size: 6 } } })).status, 200);
  });

  test("a patch without changes writes only objects of an older storage version", async () => {
    const group = "migrated.example.com";
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const versions = (storage: string): object[] =>
      ["v1", "v2"].map((name) => ({ name, served: true, storage: name === storage, schema }));
    const path = await define(group, { versions: versions("v1") });
    await call("POST", path, { body: widget(group, { size: 1 }) });
    const patched = async (): Promise<string> =>
      (await call("PATCH", `${path}/a`, { body: {} })).body.metadata.resourceVersion;
    const first = await patched();
    assert.equal(await patched(), first);
    await call("PATCH", `${definitions}/widgets.${group}`, { body: { spec: { versions: versions("v2") } } });
    // The server serves the new definition a moment later.
    let migrated = first;
    for (let attempt = 0; attempt < 100 && migrated === first; attempt++) migrated = await patched();
    assert.notEqual(migrated, first, "written as v2");
    assert.equal(await patched(), migrated);
  });
});

suite("versions and subresources of custom resources", () => {
  test("an object is served in every served version", async () => {
    const group = "versions.example.com";
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const path = await define(group, {
      versions: [
        { name: "v1", served: true, storage: true, schema },
        { name: "v1beta1", served: true, storage: false, deprecated: true, schema },
      ],
    });
    const old = path.replace("/v1/", "/v1beta1/");
    const made = await call("POST", old, { body: widget(group, { size: 1 }, "a", "v1beta1") });
    assert.equal(made.body.apiVersion, `${group}/v1beta1`);
    assert.match(String(made.headers["warning"]), /versions\.example\.com\/v1beta1 Widget is deprecated/);
    assert.equal((await call("GET", `${path}/a`)).body.apiVersion, `${group}/v1`);
    const [event] = await tested.watch(`${old}?watch=1&resourceVersion=0`, 1);
    assert.equal((event!.object as { apiVersion: string }).apiVersion, `${group}/v1beta1`);
  });

  test("status and scale are subresources of their own", async () => {
    const group = "subresources.example.com";
    const counts = { type: "object", properties: { replicas: { type: "integer" } } };
    const schema = { openAPIV3Schema: { type: "object", properties: { spec: counts, status: counts } } };
    const path = await define(group, {
      version: {
        schema,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
      },
    });
    const made = await call("POST", path, {
      body: { ...widget(group, { replicas: 1 }), status: { replicas: 8 } },
    });
    assert.equal(made.body.status, undefined);
    const status = await call("PATCH", `${path}/a/status`, {
      body: { spec: { replicas: 5 }, status: { replicas: 2 } },
    });
    assert.deepEqual([status.body.spec, status.body.status], [{ replicas: 1 }, { replicas: 2 }]);
    assert.equal(status.body.metadata.generation, 1);
    const scaled = await call("PATCH", `${path}/a/scale`, { body: { spec: { replicas: 3 } } });
    assert.equal(scaled.body.kind, "Scale");
    assert.deepEqual([scaled.body.spec, scaled.body.status], [{ replicas: 3 }, { replicas: 2 }]);
    const partial = await call("GET", `${path}/a/scale`, {
      headers: { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" },
    });
    assert.equal(partial.status, 406);
    assert.match(partial.body.message, /is not a list \(\*v1\.Scale\)$/);
    const read = await call("GET", `${path}/a`);
    assert.deepEqual([read.body.spec.replicas, read.body.metadata.generation], [3, 2]);
  });
});

suite("apply and columns of custom resources", () => {
  test("server-side apply merges by the lists of the schema", async () => {
    const group = "apply.example.com";
    const item = { type: "object", required: ["k"], properties: { k: { type: "string" } } };
    const path = await define(group, {
      schema: {
        type: "object",
        properties: {
          byKey: {
            type: "array",
            items: item,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
          },
          whole: { type: "array", items: { type: "string" } },
        },
      },
    });
    const apply = (manager: string, spec: object): Promise<Answer> =>
      call("PATCH", `${path}/a?fieldManager=${manager}`, { headers: applyPatch, body: widget(group, spec) });
    assert.equal((await apply("one", { byKey: [{ k: "x" }], whole: ["a"] })).status, 201);
    const both = await apply("two", { byKey: [{ k: "y" }] });
    assert.deepEqual(both.body.spec.byKey, [{ k: "x" }, { k: "y" }]);
    const conflict = await apply("two", { whole: ["b"] });
    assert.equal(conflict.status, 409);
    assert.match(conflict.body.message, /conflict with "one": \.spec\.whole$/);
    const without = await apply("one", { whole: ["a"] });
    assert.deepEqual(without.body.spec.byKey, [{ k: "y" }]);
  });

  test("columns and selectable fields are those of the version", async () => {
    const group = "columns.example.com";
    const path = await define(group, {
      version: {
        additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
        selectableFields: [{ jsonPath: ".spec.size" }],
      },
    });
    await call("POST", path, { body: widget(group, { size: 1 }) });
    await call("POST", path, { body: widget(group, { size: 2 }, "b") });
    const table = await call("GET", `${path}?fieldSelector=spec.size%3D2`, {
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
    });
    assert.deepEqual(
      table.body.rows.map(({ cells }: { cells: unknown[] }) => cells),
      [["b", 2]],
    );
    const unknown = await call("GET", `${path}?fieldSelector=spec.other%3D2`);
    assert.equal(unknown.status, 400);
  });
});

suite("definitions of custom resources", () => {
  test("the schema is published until the definition is deleted", async () => {
    const group = "published.example.com";
    await define(group);
    const url = `/openapi/v3/apis/${group}/v1`;
    const { components, paths } = (await call("GET", url)).body;
    const published = components.schemas["com.example.published.v1.Widget"];
    assert.deepEqual(published.properties.spec.properties.size, { type: "integer" });
    assert.ok(paths[`/apis/${group}/v1/namespaces/{namespace}/widgets/{name}`].patch);
    await call("DELETE", `${definitions}/widgets.${group}`);
    await until(url, ({ status }) => status === 404);
  });

  test("invalid definitions are rejected", async () => {
    const refusal = async (group: string, options: DefinitionOptions): Promise<string> => {
      const answer = await call("POST", `${definitions}?dryRun=All`, { body: widgets(group, options) });
      assert.equal(answer.status, 422);
      return answer.body.message;
    };
    const at = "spec.validation.openAPIV3Schema.properties[spec]";
    assert.ok(
      (await refusal("a.example.com", { schema: { properties: {} } })).includes(`${at}.type: Required value`),
    );
    const rule = { type: "object", "x-kubernetes-validations": [{ rule: "self.nothing > 1" }] };
    assert.match(
      await refusal("b.example.com", { schema: rule }),
      /x-kubernetes-validations\[0\]\.rule: .*undefined field 'nothing'/s,
    );
    const dear = {
      type: "array",
      items: {
        type: "array",
        items: { type: "string", "x-kubernetes-validations": [{ rule: "self.contains('x')" }] },
      },
    };
    assert.match(
      await refusal("c.example.com", { schema: { type: "object", properties: { dear } } }),
      /estimated rule cost exceeds budget/,
    );
    assert.match(await refusal("nodot", {}), /spec\.group: Invalid value: "nodot": should be a domain/);
  });

  test("definitions and their objects outlive the server", async () => {
    const first = await testServer();
    await first.namespace("n");
    const group = "later.example.com";
    await first.call("POST", definitions, { body: widgets(group) });
    const path = `/apis/${group}/v1/namespaces/n/widgets`;
    await eventually("the kind is served", async () => (await first.call("GET", path)).status === 200);
    await first.call("POST", path, { body: widget(group, { size: 1 }) });
    await first.server.close();
    const second = await testServer({ store: first.store });
    const read = await second.call("GET", `${path}/a`);
    assert.deepEqual(read.body.spec, { size: 1 });
    await second.server.close();
  });
});

test("owners of a custom resource are rejected in the words of the release", async () => {
  const ownerReferences = [{ apiVersion: "v1", kind: "", name: "a", uid: "b" }];
  const rejection = async (kubernetesVersion: "1.36" | "1.37"): Promise<string | undefined> => {
    const { server, call } = await testServer({ kubernetesVersion });
    await call("POST", definitions, { body: widgets("owned.example.com") });
    const url = "/apis/owned.example.com/v1/namespaces/default/widgets";
    await eventually("the widgets are served", async () => (await call("GET", url)).status === 200);
    const metadata = { name: "w", ownerReferences };
    const body = { apiVersion: "owned.example.com/v1", kind: "Widget", metadata };
    const { body: status } = await call("POST", url, { body });
    await server.close();
    return status.message?.replace(/^.*is invalid: /, "");
  };
  assert.equal(
    await rejection("1.36"),
    'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
  );
  assert.equal(
    await rejection("1.37"),
    "metadata.ownerReferences[0].kind: Required value: must not be empty",
  );
});
