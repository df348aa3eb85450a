import assert from "node:assert/strict";
import test from "node:test";
import { eventually } from "@dray/testing/eventually";
import {
  type Aggregated,
  aggregated,
  aggregatedDiscovery,
  apiService,
  group,
  servicesPath,
  versionPath,
} from "./testing.ts";

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const path = `${servicesPath}/${apiService.metadata.name}`;

interface DiscoveredResource {
  readonly resource: string;
  readonly scope: string;
  readonly shortNames: readonly string[];
  readonly responseKind: { readonly kind: string };
  readonly subresources: readonly { readonly subresource: string }[];
}

interface Version {
  readonly version: string;
  readonly freshness: string;
  readonly resources?: readonly DiscoveredResource[];
}

/** Returns the version in the document of all groups; undefined if it is missing. */
async function discovered({ call }: Aggregated): Promise<Version | undefined> {
  const { body } = await call("GET", "/apis", { headers: { accept: aggregatedType } });
  return body.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group)
    ?.versions[0];
}

/** Waits until the version of the back end is discovered with this freshness, and returns it. */
const discoveredAs = (tested: Aggregated, freshness: string) =>
  eventually(`the version is ${freshness}`, async () => {
    const found = await discovered(tested);
    return found?.freshness === freshness && found;
  });

/** Waits until OpenAPI v3 has the path, and returns all paths. */
const pathsWith = ({ call }: Aggregated, path: string) =>
  eventually(`OpenAPI v3 has ${path}`, async () => {
    const { paths } = JSON.parse((await call("GET", "/openapi/v3")).body);
    return paths[path] !== undefined && paths;
  });

for (const [form, prepare] of [
  ["new", (replies: Map<string, unknown>) => replies.set("/apis", aggregatedDiscovery)],
  ["old", () => {}],
] as const)
  test(`discovery has what a back end has, from its ${form} documents`, async (t) => {
    const tested = await aggregated(t, { prepare: ({ replies }) => prepare(replies) });
    const { call } = tested;
    const version = await discoveredAs(tested, "Current");
    const [flunders] = version!.resources!;
    assert.ok(flunders !== undefined);
    assert.equal(flunders.resource, "flunders");
    assert.equal(flunders.scope, "Namespaced");
    assert.deepEqual(flunders.shortNames, ["fl"]);
    assert.equal(flunders.responseKind.kind, "Flunder");
    if (form === "old") assert.equal(flunders.subresources[0]?.subresource, "status");
    const groups = (await call("GET", "/apis")).body.groups.map(({ name }: { name: string }) => name);
    assert.equal(groups[0], "apiregistration.k8s.io");
    assert.equal(groups.at(-1), group);
    assert.ok((await call("GET", "/")).body.paths.includes(versionPath));
    const one = (await call("GET", `/apis/${group}`)).body;
    assert.equal(one.preferredVersion.groupVersion, `${group}/v1alpha1`);
    assert.equal((await call("GET", versionPath)).body.resources[0].name, "flunders");
  });

test("a back end's discovery is stale while it is unreachable, and the server's own stays", async (t) => {
  const tested = await aggregated(t);
  const { call, backEnd } = tested;
  await discoveredAs(tested, "Current");
  await backEnd.stop();
  await call("PATCH", path, { body: { spec: { versionPriority: 400 } } });
  const stale = await discoveredAs(tested, "Stale");
  assert.equal(stale!.resources, undefined);
  const { body } = await call("GET", "/apis", { headers: { accept: aggregatedType } });
  assert.ok(body.items.length > 10);
  await call("DELETE", path);
  assert.equal(await discovered(tested), undefined);
  assert.equal((await call("GET", `/apis/${group}`)).status, 404);
});

test("OpenAPI contains the documents of a back end", async (t) => {
  const tested = await aggregated(t);
  const { call, backEnd } = tested;
  const name = versionPath.slice(1);
  const paths = await pathsWith(tested, name);
  assert.equal(paths[name].serverRelativeURL, `/openapi/v3${versionPath}?hash=1`);
  assert.notEqual(paths["version"].serverRelativeURL, "/openapi/v3/version?hash=2");
  const document = await call("GET", paths[name].serverRelativeURL, { user: "eve" });
  assert.equal(document.body.openapi, "3.0.0");
  const received = backEnd.received.find(({ url }) => url.startsWith(`/openapi/v3${versionPath}`))!;
  assert.deepEqual(received.headers["x-remote-user"], ["eve"]);
  const swagger = await eventually("OpenAPI v2 has the back end", async () => {
    const { body } = await call("GET", "/openapi/v2");
    return body.paths[`${versionPath}/flunders`] !== undefined && body;
  });
  const { get } = swagger.paths[`${versionPath}/flunders`];
  assert.deepEqual(get.parameters, [{ name: "limit", in: "query", type: "integer", uniqueItems: true }]);
  const { properties } = swagger.definitions["example.Flunder"];
  const metaType = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
  assert.equal(properties.metadata.$ref, `#/definitions/${metaType}_v2`);
  assert.ok(swagger.definitions[metaType].properties.managedFields);
  assert.equal(properties.own.$ref, "#/definitions/io.k8s.api.core.v1.LocalObjectReference");
  assert.equal(swagger.definitions["example.Unused"], undefined);
  assert.notDeepEqual(swagger.paths["/apis/"].get.responses, { "200": { description: "OK" } });
  const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  assert.equal((await call("GET", "/openapi/v2", { headers: { accept: protobuf } })).status, 200);
  await call("DELETE", path);
  const after = (await call("GET", "/openapi/v2")).body;
  assert.equal(after.definitions["example.Flunder"], undefined);
});

test("the OpenAPI v2 of a back end without v3 is converted", async (t) => {
  const tested = await aggregated(t, { prepare: ({ replies }) => replies.delete("/openapi/v3") });
  const { call } = tested;
  const name = versionPath.slice(1);
  const paths = await pathsWith(tested, name);
  const { body } = await call("GET", paths[name].serverRelativeURL);
  assert.equal(body.openapi, "3.0.0");
  const { get, post } = body.paths[`${versionPath}/flunders`];
  assert.deepEqual(get.parameters, [
    { name: "limit", in: "query", schema: { type: "integer", uniqueItems: true } },
  ]);
  const schema = { $ref: "#/components/schemas/example.Flunder" };
  assert.deepEqual(get.responses["200"].content, { "application/json": { schema } });
  assert.deepEqual(post.requestBody, { content: { "*/*": { schema } } });
  assert.ok(body.components.schemas["example.Flunder"]);
});

test("a malformed document does not break the server's own", async (t) => {
  const garbage = (_: unknown, response: { end(text: string): void }): void => response.end("{");
  const tested = await aggregated(t, {
    prepare: ({ replies }) => {
      for (const each of ["/apis", versionPath, "/openapi/v2", "/openapi/v3"]) replies.set(each, garbage);
    },
  });
  const { call, backEnd } = tested;
  await eventually("it is received", () => backEnd.received.some(({ url }) => url === versionPath));
  await discoveredAs(tested, "Stale");
  assert.equal((await call("GET", "/openapi/v2")).status, 200);
  assert.equal((await call("GET", "/openapi/v3")).status, 200);
  assert.equal((await call("GET", "/apis")).status, 200);
});
