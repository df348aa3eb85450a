import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createClient,
  createRestMapper,
  type DiscoveredKind,
  hasReached,
  httpsTransport,
  NoMatchError,
  type RestMapper,
} from "@dray/client";
import { withApiServer } from "@dray/testing/api-server";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";
import { sendJSON, type TestServer, testServer } from "../transport/testing.ts";

test("our server: kinds by kind, resource, short name and version, and clients of them", () =>
  withApiServer({ clock: fakeClock() }, async ({ admin: connect }) => {
    const client = connect();
    const mapper = createRestMapper(client);
    const find = async (query: Parameters<RestMapper["find"]>[0]): Promise<string> => {
      const { group, version, kind, resource, namespaced } = await mapper.find(query);
      return `${group}/${version} ${kind} ${resource} ${namespaced}`;
    };
    assert.equal(await find({ group: "", kind: "ConfigMap" }), "/v1 ConfigMap configmaps true");
    assert.equal(await find({ resource: "po" }), "/v1 Pod pods true");
    assert.equal(await find({ resource: "Node" }), "/v1 Node nodes false");
    assert.equal(await find({ group: "apps", resource: "deploy" }), "apps/v1 Deployment deployments true");
    assert.equal(
      await find({ group: "resource.k8s.io", version: "v1", kind: "ResourceSlice" }),
      "resource.k8s.io/v1 ResourceSlice resourceslices false",
    );
    const configMaps = client.resource(await mapper.find({ resource: "configmaps" }));
    const made = await configMaps.create({ metadata: { namespace: "default", name: "c" }, data: { k: "v" } });
    assert.deepEqual(made["data"], { k: "v" });
    assert.equal((await configMaps.list({ namespace: "default" })).items[0]?.kind, "ConfigMap");
    assert.ok(
      (await mapper.kinds()).some(({ resource, verbs }) => resource === "pods" && verbs.includes("watch")),
    );
  }));

test("an unknown kind reads discovery again each time, and is refused in the words of upstream", () =>
  withApiServer({ clock: fakeClock() }, async ({ admin: connect }) => {
    const mapper = createRestMapper(connect());
    const refused = (query: Parameters<RestMapper["find"]>[0], message: string): Promise<void> =>
      assert.rejects(
        mapper.find(query),
        (error) => error instanceof NoMatchError && error.message === message,
      );
    await refused(
      { group: "e.com", version: "v1", kind: "Foo" },
      'no matches for kind "Foo" in version "e.com/v1"',
    );
    await refused({ group: "e.com", kind: "Foo" }, 'no matches for kind "Foo" in group "e.com"');
    await refused(
      { group: "e.com", version: "v1", resource: "foos" },
      "no matches for e.com/v1, Resource=foos",
    );
  }));

/** A server without aggregated discovery, whose group `e.com` appears later. */
async function withLegacyServer(
  run: (mapper: RestMapper, server: TestServer, grow: () => void) => Promise<void>,
): Promise<void> {
  let grown = false;
  const server = await testServer((request, response) => {
    const path = request.url;
    const versions = (group: string, ...names: string[]): object => ({
      name: group,
      versions: names.map((version) => ({ groupVersion: `${group}/${version}`, version })),
      preferredVersion: { version: names.at(-1) },
    });
    const documents: Record<string, object> = {
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/apis": {
        kind: "APIGroupList",
        groups: [versions("broken.io", "v1"), ...(grown ? [versions("e.com", "v1beta1", "v1")] : [])],
      },
      "/api/v1": {
        kind: "APIResourceList",
        resources: [
          {
            name: "pods",
            singularName: "pod",
            namespaced: true,
            kind: "Pod",
            verbs: ["get"],
            shortNames: ["po"],
          },
          { name: "pods/log", singularName: "", namespaced: true, kind: "Pod", verbs: ["get"] },
        ],
      },
      "/apis/e.com/v1": {
        resources: [{ name: "foos", singularName: "", namespaced: false, kind: "Foo", verbs: [] }],
      },
      "/apis/e.com/v1beta1": {
        resources: [{ name: "foos", singularName: "", namespaced: false, kind: "Foo", verbs: [] }],
      },
    };
    const document = documents[path];
    if (document === undefined) sendJSON(response, 503, { kind: "Status", code: 503, message: "away" });
    else sendJSON(response, 200, document);
  });
  const client = createClient({
    transport: httpsTransport({ server: server.url, ca: server.ca }),
    userAgent: "t",
  });
  try {
    await run(createRestMapper(client), server, () => (grown = true));
  } finally {
    client.close();
    await server.close();
  }
}

test("a server without aggregated discovery, an unreachable group, and a group that appears later", () =>
  withLegacyServer(async (mapper, server, grow) => {
    assert.equal((await mapper.find({ resource: "po" })).kind, "Pod");
    const read = server.requests.length;
    assert.equal((await mapper.find({ kind: "Pod" })).resource, "pods");
    assert.equal(server.requests.length, read, "what is known is not asked for again");
    await assert.rejects(mapper.find({ resource: "foos" }), NoMatchError);
    grow();
    const foo = await mapper.find({ resource: "foo" });
    assert.deepEqual([foo.group, foo.version, foo.namespaced], ["e.com", "v1", false]);
    assert.deepEqual(
      (await mapper.kinds()).map(({ kind, version }) => `${version} ${kind}`),
      ["v1 Pod", "v1 Foo", "v1beta1 Foo"],
    );
  }));

test("an unreachable server is an error, and is tried again later", async () => {
  let away = true;
  const server = await testServer((request, response) => {
    if (away) sendJSON(response, 503, { kind: "Status", code: 503, message: "away" });
    else
      sendJSON(
        response,
        200,
        request.url === "/apis"
          ? { groups: [] }
          : request.url === "/api"
            ? { versions: ["v1"] }
            : { resources: [{ name: "pods", kind: "Pod", namespaced: true }] },
      );
  });
  const client = createClient({
    transport: httpsTransport({ server: server.url, ca: server.ca }),
    userAgent: "t",
  });
  const mapper = createRestMapper(client);
  await assert.rejects(mapper.find({ kind: "Pod" }), { message: "away" });
  away = false;
  assert.equal((await mapper.find({ kind: "Pod" })).resource, "pods");
  client.close();
  await server.close();
});

test("a custom resource is found once it exists, and is read, written and watched like any other", () =>
  withApiServer({}, async ({ admin: connect }) => {
    const client = connect();
    const mapper = createRestMapper(client);
    await assert.rejects(mapper.find({ resource: "gadgets" }), NoMatchError);
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    await client.text("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      body: {
        metadata: { name: "gadgets.example.com" },
        spec: {
          group: "example.com",
          scope: "Namespaced",
          names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
          versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
        },
      },
    });
    let found: DiscoveredKind | undefined;
    for (let i = 0; found === undefined; i++) {
      found = await mapper.find({ resource: "gadgets" }).catch((error) => {
        if (i === 200) throw error;
        return undefined;
      });
      await eventLoopTurns(5);
    }
    assert.deepEqual(
      [found.group, found.version, found.kind, found.namespaced],
      ["example.com", "v1", "Gadget", true],
    );
    const stop = new AbortController();
    const gadgets = client.informer(found);
    await gadgets.start(stop.signal);
    const ref = { namespace: "default", name: "a" };
    const made = await client.resource(found).create({ metadata: ref, spec: { size: 1 } });
    await gadgets.until(() => hasReached(gadgets, made));
    assert.deepEqual(gadgets.get(ref)?.["spec"], { size: 1 });
    const applied = { metadata: ref, spec: { colour: "red" } };
    const changed = await client.resource(found).apply(applied, { fieldManager: "me", force: true });
    assert.deepEqual(changed["spec"], { size: 1, colour: "red" });
    stop.abort();
  }));

test("lists of discovery that are null are empty", async () => {
  const documents: Readonly<Record<string, object>> = {
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/apis": {
      kind: "APIGroupDiscoveryList",
      items: [
        { metadata: null, versions: null },
        { metadata: { name: "e.com" }, versions: [{ version: "v1", resources: null }] },
      ],
    },
    "/api/v1": {
      resources: [{ name: "pods", kind: "Pod", namespaced: true, verbs: null, shortNames: null }],
    },
  };
  const server = await testServer((request, response) =>
    sendJSON(response, 200, documents[request.url] ?? {}),
  );
  const client = createClient({
    transport: httpsTransport({ server: server.url, ca: server.ca }),
    userAgent: "t",
  });
  const kinds = await createRestMapper(client).kinds();
  assert.deepEqual(
    kinds.map(({ kind, verbs, shortNames }) => [kind, verbs, shortNames]),
    [["Pod", [], []]],
  );
  client.close();
  await server.close();
});
