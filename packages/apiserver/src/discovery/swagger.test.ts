import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../test-server.ts";

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
                  any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
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

test("one Swagger document has the paths and schemas of all groups, in the words of that version", async () => {
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

test("a custom resource enters the document, without what that version cannot say", async () => {
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
    any: { "x-kubernetes-preserve-unknown-fields": true },
    one: { type: "integer" },
  });
  await server.close();
});

test("the binary form is the model of gnostic; who has the document already is told so", async () => {
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
  // Field 1 is the version of Swagger, field 2 the information with the title in its own field 1.
  const bytes = Buffer.from(response.bytes());
  assert.equal(bytes.subarray(0, 5).toString("latin1"), "\n\u00032.0");
  assert.deepEqual([bytes[5], bytes[7], bytes[8]], [0x12, 0x0a, "Kubernetes".length]);
  const etag = String(response.headers["etag"]);
  assert.equal((await call("GET", "/openapi/v2", { headers: { "if-none-match": etag } })).status, 304);
  assert.equal((await call("GET", "/openapi/v2", { headers: { accept: "text/html" } })).status, 406);
  await server.close();
});
