import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeProtobuf } from "@dray/api/codec";
import { testServer } from "../testing/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const protobuf = "application/vnd.kubernetes.protobuf";
const admin = { type: "bearer", token: "admin-token" } as const;
const { signal } = new AbortController();

test("a namespace is created by kubectl's protobuf body, with a protobuf response", async () => {
  const { server, call } = await testServer();
  const body = encodeProtobuf({ apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  const headers = { "content-type": protobuf, accept: `${protobuf},application/json` };
  const request = { method: "POST", url: "/api/v1/namespaces", headers, body, credential: admin, signal };
  const answer = await server.handle(request);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers["content-type"], protobuf);
  assert.ok(answer.type === "body");
  assert.deepEqual([...answer.bytes().subarray(0, 4)], [0x6b, 0x38, 0x73, 0]);
  assert.equal((await call("GET", "/api/v1/namespaces/n")).body.status.phase, "Active");
  await server.close();
});

test("YAML is decoded and encoded", async () => {
  const { server, call } = await testServer();
  const yaml = { "content-type": "application/yaml", accept: "application/yaml" };
  const body = "metadata:\n  name: w\ndata:\n  a: 'yes'\n";
  const created = await call("POST", maps, { headers: yaml, body });
  assert.equal(created.status, 201);
  assert.match(created.body, /^apiVersion: v1\ndata:\n {2}a: "yes"\nkind: ConfigMap\n/);
  await server.close();
});

test("unknown and duplicate fields are warnings, or errors in strict validation", async () => {
  const { server, call } = await testServer();
  const body = '{"metadata":{"name":"u"},"data":{"a":"1"},"nosuch":1,"data":{"b":"2"}}';
  const warned = await call("POST", maps, { body });
  assert.equal(warned.status, 201);
  assert.deepEqual(warned.headers["warning"], [
    '299 - "unknown field \\"nosuch\\""',
    '299 - "duplicate field \\"data\\""',
  ]);
  const strict = await call("POST", `${maps}?fieldValidation=Strict`, { body: body.replace('"u"', '"v"') });
  assert.equal(strict.status, 400);
  assert.match(strict.body.message, /strict decoding error: unknown field "nosuch", duplicate field "data"$/);
  assert.equal((await call("GET", `${maps}/v`)).status, 404);
  await server.close();
});

test("malformed bodies, unknown types and bodies that are too large change nothing", async () => {
  const { server, call } = await testServer();
  assert.equal((await call("POST", maps, { body: "{" })).status, 400);
  const headers = { "content-type": "application/yaml" };
  assert.equal((await call("POST", maps, { headers, body: "a: b: c: [" })).status, 400);
  assert.equal(
    (await call("POST", maps, { headers: { "content-type": "text/plain" }, body: "x" })).status,
    415,
  );
  const large = { metadata: { name: "large" }, data: { a: "x".repeat(10 * 1024 * 1024) } };
  assert.equal((await call("POST", maps, { body: large })).status, 413);
  assert.equal((await call("GET", maps)).body.items.length, 0);
  await server.close();
});

test("server-side apply keeps fields of other managers, and names the managers of conflicting fields", async () => {
  const { server, call } = await testServer();
  const apply = (manager: string, data: object, query = "") =>
    call("PATCH", `${maps}/a?fieldManager=${manager}${query}`, {
      headers: { "content-type": "application/apply-patch+yaml" },
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data },
    });
  assert.equal((await apply("one", { a: "1" })).status, 201);
  assert.deepEqual((await apply("two", { b: "2" })).body.data, { a: "1", b: "2" });
  const conflict = await apply("two", { a: "9", b: "2" });
  assert.equal(conflict.status, 409);
  assert.equal(conflict.body.details.causes[0].message, 'conflict with "one"');
  assert.equal((await apply("two", { a: "9", b: "2" }, "&force=true")).body.data.a, "9");
  await server.close();
});

test("tables have kubectl's columns, and PartialObjectMetadata only metadata", async () => {
  const { server, call } = await testServer();
  await call("POST", maps, { body: { metadata: { name: "t" }, data: { a: "1", b: "2" } } });
  const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
  const { body } = await call("GET", maps, { headers: table });
  assert.deepEqual(
    body.columnDefinitions.map(({ name }: { name: string }) => name),
    ["Name", "Data", "Age"],
  );
  assert.deepEqual(body.rows[0].cells.slice(0, 2), ["t", 2]);
  const partial = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" };
  const one = await call("GET", `${maps}/t`, { headers: partial });
  assert.equal(one.body.kind, "PartialObjectMetadata");
  assert.equal(one.body.data, undefined);
  assert.equal((await call("GET", `${maps}/t`, { headers: { accept: "text/plain" } })).status, 406);
  await server.close();
});

test("discovery lists every resource, in both forms, and responds with 304 to a known ETag", async () => {
  const { server, call } = await testServer();
  const list = await call("GET", "/apis/resource.k8s.io/v1");
  const names = list.body.resources.map(({ name }: { name: string }) => name);
  assert.ok(names.includes("resourceclaims/status"));
  const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const first = await call("GET", "/apis", { headers: { accept: aggregated } });
  assert.equal(first.headers["content-type"], aggregated);
  assert.equal(first.body.kind, "APIGroupDiscoveryList");
  const etag = String(first.headers["etag"]);
  const again = await call("GET", "/apis", { headers: { accept: aggregated, "if-none-match": etag } });
  assert.equal(again.status, 304);
  assert.equal((await call("GET", "/apis/resource.k8s.io/v1beta1")).status, 404, "beta versions are off");
  await server.close();
});

test("OpenAPI contains the parameter fieldValidation of patches, which kubectl checks before it applies", async () => {
  const { server, call } = await testServer();
  const index = JSON.parse((await call("GET", "/openapi/v3")).body);
  const { body } = await call("GET", index.paths["apis/resource.k8s.io/v1"].serverRelativeURL);
  const { patch } = body.paths["/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"];
  assert.equal(patch["x-kubernetes-group-version-kind"].kind, "ResourceClaim");
  assert.ok(patch.parameters.some(({ name }: { name: string }) => name === "fieldValidation"));
  await server.close();
});

test("a claim can be read and written in an older version", async () => {
  const { server, call } = await testServer({ runtimeConfig: { "api/all": true } });
  const path = (version: string) => `/apis/resource.k8s.io/${version}/namespaces/default/resourceclaims`;
  const requests = [{ name: "r", deviceClassName: "gpu" }];
  const made = await call("POST", path("v1beta1"), {
    body: { metadata: { name: "c" }, spec: { devices: { requests } } },
  });
  assert.equal(made.status, 201);
  assert.match(
    String(made.headers["warning"]),
    /resource.k8s.io\/v1beta1 ResourceClaim is deprecated in v1.35\+/,
  );
  const read = await call("GET", `${path("v1")}/c`);
  assert.equal(read.body.spec.devices.requests[0].exactly.deviceClassName, "gpu");
  assert.equal(
    (await call("GET", `${path("v1beta1")}/c`)).body.spec.devices.requests[0].deviceClassName,
    "gpu",
  );
  await server.close();
});

test("a watch with an invalid table option is rejected before it begins", async () => {
  const { server, call } = await testServer();
  const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  await call("POST", maps, { body: { metadata: { name: "t" } } });
  const refused = await call("GET", `${maps}?watch=true&includeObject=x`, { headers });
  assert.equal(refused.status, 400);
  assert.match(
    refused.body.message,
    /^Unable to convert to Table as requested: includeObject: Invalid value: "x"/,
  );
  await server.close();
});
