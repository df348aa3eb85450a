import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

const binary = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  port: { "x-kubernetes-int-or-string": true },
                  some: { type: "string", nullable: true },
                  any: {
                    type: "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "x-kubernetes-embedded-resource": true,
                  },
                  one: { type: "integer", oneOf: [{ minimum: 1 }, { maximum: -1 }] },
                },
              },
            },
          },
        },
      },
    ],
  },
};

test("one Swagger document has the paths and schemas of all groups, in OpenAPI v2", async () => {
  const { call, server } = await testServer();
  const { status, headers, body } = await call("GET", "/openapi/v2");
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(body.swagger, "2.0");
  const text = JSON.stringify(body);
  for (const [, name] of text.matchAll(/"#\/definitions\/([^"]+)"/g))
    assert.ok(body.definitions[name!], name);
  assert.equal(/#\/components|"(oneOf|anyOf|allOf)":\[/.exec(text), null);
  const claims = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims";
  const { post } = body.paths[claims];
  assert.deepEqual(post.consumes, ["*/*"]);
  assert.deepEqual(post.parameters[0], {
    in: "body",
    name: "body",
    required: true,
    schema: { $ref: "#/definitions/io.k8s.api.resource.v1.ResourceClaim" },
  });
  const quantity = body.definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"];
  assert.equal(quantity.type, "string");
  const options = body.definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
  const groups = options["x-kubernetes-group-version-kind"].map(({ group }: { group: string }) => group);
  assert.ok(groups.includes("apps") && groups.includes(""), "options are of all groups");
  await server.close();
});

test("a custom resource is added to the document, without schema features that v2 lacks", async () => {
  const { call, server } = await testServer();
  const before = (await call("GET", "/openapi/v2")).headers["etag"];
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await call("POST", path, { body: definition });
  let document = await call("GET", "/openapi/v2");
  for (let tries = 0; document.headers["etag"] === before && tries < 100; tries++) {
    await new Promise((resolve) => setImmediate(resolve));
    document = await call("GET", "/openapi/v2");
  }
  const { spec } = document.body.definitions["com.example.v1.Widget"].properties;
  assert.deepEqual(spec.properties, {
    port: { "x-kubernetes-int-or-string": true },
    some: {},
    any: { "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true },
    one: { type: "integer" },
  });
  await server.close();
});

test("versions are added, renamed and removed with the served versions of a definition", async () => {
  const { call, server } = await testServer();
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const versions = ["v2", "v3"].map((name) => ({ name, served: true, storage: name === "v2", schema }));
  const multiple = { ...definition, spec: { ...definition.spec, versions } };
  assert.equal((await call("POST", path, { body: multiple })).status, 201);
  const published = async (count: number): Promise<string[]> => {
    for (let tries = 0; ; tries++) {
      const { definitions } = (await call("GET", "/openapi/v2")).body;
      const names = Object.keys(definitions).filter((name) => name.startsWith("com.example."));
      if (names.length === count || tries > 100) return names;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const both = (name: string): string[] => [`com.example.${name}.Widget`, `com.example.${name}.WidgetList`];
  assert.deepEqual(await published(4), [...both("v2"), ...both("v3")]);
  const patch = async (operations: object[]): Promise<void> => {
    const headers = { "content-type": "application/json-patch+json" };
    const { status } = await call("PATCH", `${path}/widgets.example.com`, { body: operations, headers });
    assert.equal(status, 200);
  };
  await patch([{ op: "replace", path: "/spec/versions/1/name", value: "v4" }]);
  while ((await published(4))[2] === both("v3")[0]) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await published(4), [...both("v2"), ...both("v4")]);
  await patch([{ op: "replace", path: "/spec/versions/1/served", value: false }]);
  assert.deepEqual(await published(2), both("v2"));
  await call("DELETE", `${path}/widgets.example.com`);
  assert.deepEqual(await published(0), []);
  await server.close();
});

test("the protobuf encoding is the model of gnostic; a client with the current document gets 304", async () => {
  const { call, server } = await testServer();
  const response = await server.handle({
    method: "GET",
    url: "/openapi/v2",
    headers: { accept: binary },
    credential: { type: "user", user: { name: "ann", groups: ["system:masters"] } },
    signal: new AbortController().signal,
  });
  assert.ok(response.type === "body");
  assert.equal(
    response.headers["content-type"],
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  );
  // Field 1 is the version of Swagger, field 2 the info, whose own field 1 is the title.
  const bytes = Buffer.from(response.bytes());
  assert.equal(bytes.subarray(0, 5).toString("latin1"), "\n\u00032.0");
  assert.deepEqual([bytes[5], bytes[7], bytes[8]], [0x12, 0x0a, "Kubernetes".length]);
  const etag = String(response.headers["etag"]);
  assert.equal((await call("GET", "/openapi/v2", { headers: { "if-none-match": etag } })).status, 304);
  assert.equal((await call("GET", "/openapi/v2", { headers: { accept: "text/html" } })).status, 406);
  await server.close();
});
