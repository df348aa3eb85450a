import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { Hooks, type Review } from "../admission/webhook/testing.ts";
import { type Answer, type TestServer, testServer } from "../testing/server.ts";

interface Converted {
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
  readonly hostPort?: string;
  readonly host?: string;
  readonly port?: string;
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const group = "stable.example.com";
const collection = (version: string): string => `/apis/${group}/${version}/namespaces/n/sites`;
const string = { type: "string" };

/** Converts between `hostPort` of v1, and `host` and `port` of v2. */
function inVersion(object: Converted, apiVersion: string): Converted {
  if (apiVersion.endsWith("/v2")) {
    const { hostPort = "", ...rest } = object;
    const [host = "", port = ""] = hostPort.split(":");
    return { ...rest, apiVersion, host, port };
  }
  const { host, port, ...rest } = object;
  return { ...rest, apiVersion, hostPort: `${host}:${port}` };
}

const hooks = new Hooks();
let tested: TestServer;
/** Changes the response of the webhook. */
let alterResponse: (review: { response: { convertedObjects: object[] } }) => object = (review) => review;

before(() => hooks.start());
after(() => hooks.stop());
beforeEach(async () => {
  alterResponse = (review) => review;
  hooks.asked.length = 0;
  hooks.replies.set("convert", ({ apiVersion, request }: Review) => {
    const convertedObjects = request.objects.map((object: Converted) =>
      inVersion(object, request.desiredAPIVersion),
    );
    const response = { uid: request.uid, convertedObjects, result: { status: "Success" } };
    return JSON.stringify(alterResponse({ ...{ kind: "ConversionReview", apiVersion }, response } as never));
  });
  tested = await testServer();
  await tested.namespace("n");
  const version = (name: string, properties: Record<string, object>): object => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", properties } },
    selectableFields: Object.keys(properties).map((field) => ({ jsonPath: `.${field}` })),
    additionalPrinterColumns: Object.keys(properties).map((name) => ({
      name,
      type: "string",
      jsonPath: `.${name}`,
    })),
  });
  const clientConfig = { url: `https://127.0.0.1:${hooks.port}/convert`, caBundle: hooks.caBundle };
  const body = {
    metadata: { name: `sites.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "sites", singular: "site", kind: "Site" },
      versions: [version("v1", { hostPort: string }), version("v2", { host: string, port: string })],
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig, conversionReviewVersions: ["v3", "v1", "v1beta1"] },
      },
    },
  };
  assert.equal((await tested.call("POST", definitions, { body })).status, 201);
  while ((await tested.call("GET", collection("v2"))).status !== 200)
    await new Promise((resolve) => setImmediate(resolve));
});
afterEach(() => tested.server.close());

const create = (version: string, name: string, fields: object, metadata: object = {}): Promise<Answer> => {
  const body = {
    apiVersion: `${group}/${version}`,
    kind: "Site",
    metadata: { name, ...metadata },
    ...fields,
  };
  return tested.call("POST", collection(version), { body });
};
const names = async (version: string, fieldSelector: string): Promise<string[]> => {
  const query = `?fieldSelector=${encodeURIComponent(fieldSelector)}`;
  const { body } = await tested.call("GET", collection(version) + query);
  return body.items.map(({ metadata }: Converted) => metadata.name);
};

describe("a conversion webhook", () => {
  test("serves an object in the requested version", async () => {
    const created = await create("v1", "a", { hostPort: "localhost:8080" }, { labels: { x: "y" } });
    assert.equal(hooks.asked.length, 0);
    const { body } = await tested.call("GET", `${collection("v2")}/a`);
    assert.deepEqual(body.metadata, created.body.metadata);
    assert.deepEqual(
      [body.apiVersion, body.host, body.port, body.hostPort],
      [`${group}/v2`, "localhost", "8080", undefined],
    );
    const { apiVersion, request } = hooks.asked[0]!.review;
    assert.deepEqual(
      [apiVersion, request.desiredAPIVersion, request.objects.length],
      ["apiextensions.k8s.io/v1", `${group}/v2`, 1],
    );
    // Converted objects are cached as long as they are stored.
    await tested.call("GET", `${collection("v2")}/a`);
    assert.equal(hooks.asked.length, 1);
    const table = await tested.call("GET", `${collection("v2")}/a`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    assert.deepEqual(table.body.rows[0].cells, ["a", "localhost", "8080"]);
  });

  test("writes in any version are stored in one, and lists contain objects of both", async () => {
    assert.equal((await create("v2", "a", { host: "h1", port: "1" })).body.host, "h1");
    const versions = [false, true];
    await tested.call("PATCH", `${definitions}/sites.${group}`, {
      headers: { "content-type": "application/json-patch+json" },
      body: versions.map((value, index) => ({
        op: "replace",
        path: `/spec/versions/${index}/storage`,
        value,
      })),
    });
    await create("v1", "b", { hostPort: "h2:2" });
    for (const [version, fields] of [
      ["v1", [{ hostPort: "h1:1" }, { hostPort: "h2:2" }]],
      [
        "v2",
        [
          { host: "h1", port: "1" },
          { host: "h2", port: "2" },
        ],
      ],
    ] as const) {
      const { body } = await tested.call("GET", collection(version));
      const shown = body.items.map(
        ({ apiVersion: _, kind: __, metadata: ___, ...rest }: Record<string, unknown>) => rest,
      );
      assert.deepEqual(shown, fields, version);
    }
    const patched = await tested.call("PATCH", `${collection("v1")}/a`, { body: { hostPort: "h3:3" } });
    assert.equal(patched.body.hostPort, "h3:3");
    assert.equal((await tested.call("GET", `${collection("v2")}/a`)).body.host, "h3");
    const current = (await tested.call("GET", `${collection("v1")}/b`)).body;
    const replaced = await tested.call("PUT", `${collection("v1")}/b`, {
      body: { ...current, hostPort: "h4:4" },
    });
    assert.equal(replaced.status, 200);
    assert.equal((await tested.call("GET", `${collection("v2")}/b`)).body.port, "4");
    assert.equal((await tested.call("DELETE", `${collection("v1")}/b`)).status, 200);
    // The definition is deleted together with its objects.
    await tested.call("DELETE", `${definitions}/sites.${group}`);
    while ((await tested.call("GET", `${definitions}/sites.${group}`)).status !== 404)
      await new Promise((resolve) => setImmediate(resolve));
  });

  test("objects are selected by their fields in the requested version", async () => {
    const path = `${collection("v2")}?watch=1&resourceVersion=0&fieldSelector=host%3Dh1`;
    const watched = tested.watch(path, 4);
    await create("v2", "a", { host: "h1", port: "80" });
    await create("v2", "b", { host: "h1", port: "8080" });
    await create("v2", "c", { host: "h2", port: "80" });
    assert.deepEqual(await names("v2", "host=h1"), ["a", "b"]);
    assert.deepEqual(await names("v2", "host=h1,port=80"), ["a"]);
    assert.deepEqual(await names("v1", "hostPort=h1:8080"), ["b"]);
    const selected = `${collection("v2")}?fieldSelector=${encodeURIComponent("host=h1,port=80")}`;
    assert.equal((await tested.call("DELETE", selected)).status, 200);
    await tested.call("PATCH", `${collection("v2")}/b`, { body: { host: "h2" } });
    assert.deepEqual(await names("v2", "host=h1"), []);
    const events = (await watched).map(({ type, object }) => [type, object.metadata.name, object.host]);
    assert.deepEqual(events, [
      ["ADDED", "a", "h1"],
      ["ADDED", "b", "h1"],
      ["DELETED", "a", "h1"],
      ["DELETED", "b", "h1"],
    ]);
  });
});

describe("a conversion webhook with much to convert", () => {
  test("converts a long list in batches", async () => {
    const annotations = { text: "a".repeat(200_000) };
    for (let index = 0; index < 12; index++)
      await create("v1", `n${index}`, { hostPort: `h:${index}` }, { annotations });
    const { body } = await tested.call("GET", collection("v2"));
    assert.equal(body.items.length, 12);
    assert.ok(body.items.every(({ host }: Converted) => host === "h"));
    assert.deepEqual(
      hooks.asked.map(({ review }) => review.request.objects.length),
      [10, 2],
    );
  });

  test("fails where the response has too many values", async () => {
    await create("v1", "a", { hostPort: "h:1" });
    alterResponse = (review) => ({ ...review, x: new Array<number>(210_000).fill(0) });
    const { status, body } = await tested.call("GET", `${collection("v2")}/a`);
    assert.equal(status, 500);
    assert.match(body.message, /failed: the response has more than 200000 fields, keys and elements$/);
  });
});

describe("a faulty conversion webhook", () => {
  const altered: Readonly<
    Record<string, readonly [change: (converted: Record<string, unknown>) => object, reason: RegExp]>
  > = {
    "another name": [
      (object) => ({ ...object, metadata: { ...(object["metadata"] as object), name: "b" } }),
      /index 0: must have the same name: a != b$/,
    ],
    "another kind": [
      (object) => ({ ...object, kind: "Other" }),
      /index 0: invalid kind \(expected Site, received Other\)$/,
    ],
    "another version": [
      (object) => ({ ...object, apiVersion: "x/v9" }),
      /index 0: invalid groupVersion \(expected stable.example.com\/v2, received x\/v9\)$/,
    ],
    "labels that are no texts": [
      (object) => ({ ...object, metadata: { ...(object["metadata"] as object), labels: { a: 1 } } }),
      /metadata.labels\[a\] must be a string/,
    ],
  };
  for (const [name, [change, reason]] of Object.entries(altered)) {
    test(`must not answer with ${name}`, async () => {
      await create("v1", "a", { hostPort: "h:1" });
      alterResponse = ({ response, ...rest }) => ({
        ...rest,
        response: {
          ...response,
          convertedObjects: response.convertedObjects.map((each) => change(each as never)),
        },
      });
      const { status, body } = await tested.call("GET", `${collection("v2")}/a`);
      assert.equal(status, 500);
      assert.match(
        body.message,
        /^conversion webhook for stable.example.com\/v1, Kind=Site returned invalid/,
      );
      assert.match(body.message, reason);
      // Invalid responses are not cached.
      alterResponse = (review) => review;
      assert.equal((await tested.call("GET", `${collection("v2")}/a`)).status, 200);
    });
  }

  test("may change labels and annotations, and no other metadata", async () => {
    const { body: created } = await create("v1", "a", { hostPort: "h:1" }, { labels: { x: "y" } });
    alterResponse = ({ response, ...rest }) => ({
      ...rest,
      response: {
        ...response,
        convertedObjects: response.convertedObjects.map((each) => ({
          ...each,
          metadata: {
            ...(each as typeof created).metadata,
            labels: { z: "1" },
            generation: 9,
            finalizers: ["a/b"],
          },
        })),
      },
    });
    const { metadata } = (await tested.call("GET", `${collection("v2")}/a`)).body;
    assert.deepEqual(metadata, { ...created.metadata, labels: { z: "1" } });
  });

  test("its errors are reported, also when it cannot be reached", async () => {
    await create("v1", "a", { hostPort: "h:1" });
    const ask = async (): Promise<string> => (await tested.call("GET", `${collection("v2")}/a`)).body.message;
    const because = "conversion webhook for stable.example.com/v1, Kind=Site failed: ";
    alterResponse = ({ response, ...rest }) => ({
      ...rest,
      response: { ...response, result: { status: "Failure", message: "no such port" } },
    });
    assert.equal(await ask(), `${because}no such port`);
    alterResponse = ({ response, ...rest }) => ({ ...rest, response: { ...response, uid: "x" } });
    assert.match(await ask(), /failed: expected response.uid=".+", got "x"$/);
    alterResponse = ({ response, ...rest }) => ({ ...rest, response: { ...response, convertedObjects: [] } });
    assert.match(await ask(), /returned 0 objects, expected 1$/);
    hooks.replies.set("convert", () => 503);
    assert.match(await ask(), /^conversion webhook for .* failed: /);
    const [event] = await tested.watch(`${collection("v2")}?watch=1`, 1);
    assert.equal(event!.type, "ERROR");
    // The stored version needs no webhook.
    assert.equal((await tested.call("GET", `${collection("v1")}/a`)).status, 200);
  });
});
