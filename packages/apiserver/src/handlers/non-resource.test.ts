import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

test("paths are not normalized: one with two leading slashes is not found", async () => {
  const { call, server } = await testServer();
  for (const path of ["//api/v1/pods", "//version", "/metrics/", "/apis//", "/openapi/v3/"]) {
    assert.equal((await call("GET", path)).status, 404, path);
  }
  for (const path of ["/version/", "/version//", "/api//", "/apis/", "/api%2Fv1%2Fpods"]) {
    assert.equal((await call("GET", path)).status, 200, path);
  }
  await server.close();
});

test("an invalid path, or a watch path without a resource, is rejected in plain text", async () => {
  const { call, server } = await testServer();
  const { status, headers, body } = await call("GET", "/api/v1/watch?x=1");
  assert.equal(status, 500);
  assert.equal(headers["content-type"], "text/plain; charset=utf-8");
  assert.equal(
    body,
    `Internal Server Error: "/api/v1/watch?x=1": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch?x=1\n`,
  );
  const odd = await call("GET", "/api/v1/%zz");
  assert.deepEqual([odd.status, odd.body], [400, "400 Bad Request"]);
  await server.close();
});

test("a name that is invalid as a key is rejected before any lookup", async () => {
  const { call, server } = await testServer();
  const message = async (path: string): Promise<string> => (await call("GET", path)).body.message;
  assert.equal(await message(`${configMaps}/a%25b`), `Name parameter invalid: "a%b": may not contain '%'`);
  assert.equal(await message(`${configMaps}/..`), `Name parameter invalid: "..": may not be '..'`);
  assert.equal(await message(`${configMaps}/a%00b`), `configmaps "a\\x00b" not found`);
  for (const path of ["/api/v1/namespaces/../pods", "/api/v1/namespaces/../pods?watch=true"]) {
    const { status, body } = await call("GET", path);
    assert.deepEqual([status, body.reason, body.message], [400, "BadRequest", `invalid key: "/pods/.."`]);
  }
  for (const method of ["PUT", "PATCH", "DELETE"]) {
    const { status, body } = await call(method, "/api/v1/namespaces/../pods/x", { body: {} });
    assert.deepEqual([status, body.message], [400, `invalid key: "/pods/../x"`], method);
  }
  const posted = await call("POST", "/api/v1/namespaces/../pods", { body: {} });
  assert.deepEqual(
    [posted.status, posted.body.message],
    [400, `invalid resource name "..": [may not be '..']`],
  );
  assert.equal((await call("GET", `${configMaps}/%ff`)).status, 404);
  await server.close();
});

test("a path with one media type rejects clients that do not accept it", async () => {
  const { call, server } = await testServer();
  const answer = await call("GET", "/version", { headers: { accept: "application/yaml" } });
  assert.equal(answer.status, 406);
  assert.equal((await call("POST", "/version")).status, 405);
  assert.equal((await call("GET", "/version/x")).body.reason, "NotFound");
  assert.equal((await call("GET", "/nosuch")).body, "404 page not found\n");
  const status = await call("GET", "/statusz", {
    headers: { accept: "application/json;as=Statusz;v=v1beta1;g=config.k8s.io" },
  });
  assert.equal(status.body.kind, "Statusz");
  assert.equal((await call("GET", "/statusz")).status, 406);
  await server.close();
});

test("every response has an Audit-ID, the client's own if it sends one", async () => {
  const { call, server } = await testServer();
  const named = await call("GET", "/healthz", { headers: { "audit-id": "mine" } });
  assert.equal(named.headers["audit-id"], "mine");
  assert.match(String((await call("GET", configMaps)).headers["audit-id"]), /^[0-9a-f-]{36}$/);
  await server.close();
});

test("discovery is aggregated if any clause requests it, and contains the server's address", async () => {
  const { call, server } = await testServer();
  const form = "as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io";
  const accept = `application/json,application/json;${form}`;
  const both = await call("GET", "/api", { headers: { accept } });
  assert.equal(both.body.kind, "APIGroupDiscoveryList");
  const yaml = await call("GET", "/apis", { headers: { accept: `application/yaml;${form}` } });
  assert.match(yaml.body, /^apiVersion: apidiscovery.k8s.io\/v2\n/);
  const [where] = (await call("GET", "/api")).body.serverAddressByClientCIDRs;
  assert.equal(where.clientCIDR, "0.0.0.0/0");
  assert.match(where.serverAddress, /^[0-9.]+:\d+$/);
  await server.close();
});
