import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestServer, testServer } from "../testing/server.ts";

describe("paths and methods", () => {
  let tested: TestServer;
  before(async () => {
    tested = await testServer({ kubernetesVersion: "1.36", disabledAdmissionPlugins: ["ServiceAccount"] });
    await tested.call("POST", "/api/v1/namespaces", { body: { metadata: { name: "n" } } });
  });
  after(() => tested.server.close());

  const status = async (method: string, url: string, body?: unknown): Promise<number> =>
    (await tested.call(method, url, body === undefined ? {} : { body })).status;

  test("a path without any served method is not found; otherwise the method is not allowed", async () => {
    assert.equal(await status("POST", "/api/v1/bindings", {}), 404);
    assert.equal(await status("GET", "/api/v1/namespaces/n/bindings"), 405);
    assert.equal(await status("PUT", "/api/v1/pods", {}), 405);
    assert.equal(await status("DELETE", "/api/v1/namespaces"), 405);
    assert.equal(await status("GET", "/api/v1/namespaces/n/namespaces"), 404);
    assert.equal(await status("GET", "/api/v1/proxy/nodes/x"), 404);
    assert.equal(await status("GET", "/api/v1/watch/bindings"), 404);
    assert.equal(await status("FOO", "/api/v1/namespaces/n/pods"), 405);
    assert.equal(await status("GET", "/apis/nosuch.example.com/v1"), 404);
  });

  test("only served paths warn that their version is deprecated", async () => {
    const warned = async (method: string, url: string): Promise<boolean> =>
      (await tested.call(method, url)).headers["warning"] !== undefined;
    assert.equal(await warned("GET", "/api/v1/namespaces/n/endpoints"), true);
    assert.equal(await warned("HEAD", "/api/v1/namespaces/n/endpoints/x"), false);
  });

  test("connections fail with the error of the step that they reach", async () => {
    const pods = "/api/v1/namespaces/n/pods";
    const containers = [{ name: "c", image: "i" }];
    await tested.call("POST", pods, { body: { metadata: { name: "p" }, spec: { containers } } });
    const message = async (url: string): Promise<string> => (await tested.call("GET", url)).body.message;
    assert.equal(await message(`${pods}/p/exec`), "pod p does not have a host assigned");
    assert.equal(await message(`${pods}/p/exec?container=x`), "container x is not valid for pod p");
    assert.equal(await message(`${pods}/p/exec?dryRun=All`), "dryRun is not supported");
    assert.match(await message(`${pods}/p/portforward?ports=x`), /^cannot convert to \[\]int32: /);
    assert.equal(await message(`${pods}/p/proxy`), "address not allowed");
    assert.equal(await message(`${pods}/a:b:c:d/proxy`), 'invalid pod request "a:b:c:d"');
    assert.equal(await message("/api/v1/namespaces/n/services/x/proxy/"), 'services "x" not found');
    assert.equal(await message("/api/v1/nodes/x/proxy"), 'nodes "x" not found');
    assert.match(await message(`${pods}/p/log?stream=x`), /stream: Forbidden: may not be specified$/);
  });

  test("a resize changes only resources", async () => {
    const pods = "/api/v1/namespaces/n/pods";
    const container = { name: "c", image: "i", resources: { requests: { cpu: "1" } } };
    await tested.call("POST", pods, { body: { metadata: { name: "r" }, spec: { containers: [container] } } });
    const changed = { name: "c", image: "other", resources: { requests: { cpu: "2" } } };
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    const body = { metadata: { labels: { a: "b" } }, spec: { containers: [changed] } };
    const resized = await tested.call("PATCH", `${pods}/r/resize`, { body, headers });
    assert.equal(resized.status, 200);
    assert.equal(resized.body.spec.containers[0].image, "i");
    assert.deepEqual(resized.body.spec.containers[0].resources, { requests: { cpu: "2" } });
    assert.equal(resized.body.metadata.labels, undefined);
    assert.equal(resized.body.metadata.generation, 2);
    const removed = { spec: { containers: [{ name: "c", resources: null }] } };
    const refused = await tested.call("PATCH", `${pods}/r/resize`, { body: removed, headers });
    assert.equal(refused.status, 422);
  });

  test("an eviction takes a disruption from the budget", async () => {
    const containers = [{ name: "c", image: "i" }];
    const spec = { containers, nodeName: "x" };
    const labels = { app: "a" };
    await tested.call("POST", "/api/v1/namespaces/n/pods", {
      body: { metadata: { name: "e", labels }, spec },
    });
    const ready = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
    await tested.call("PATCH", "/api/v1/namespaces/n/pods/e/status", { body: ready });
    const budgets = "/apis/policy/v1/namespaces/n/poddisruptionbudgets";
    const selector = { matchLabels: labels };
    await tested.call("POST", budgets, {
      body: { metadata: { name: "b" }, spec: { selector, minAvailable: 0 } },
    });
    const evict = () =>
      tested.call("POST", "/api/v1/namespaces/n/pods/e/eviction", { body: { metadata: { name: "e" } } });
    const early = await evict();
    assert.equal(early.status, 429);
    assert.equal(early.headers["retry-after"], "10");
    const counted = { observedGeneration: 1, disruptionsAllowed: 1, expectedPods: 1 };
    await tested.call("PATCH", `${budgets}/b/status`, { body: { status: counted } });
    assert.equal((await evict()).status, 201);
    const { status } = (await tested.call("GET", `${budgets}/b`)).body;
    assert.equal(status.disruptionsAllowed, 0);
    assert.deepEqual(Object.keys(status.disruptedPods), ["e"]);
    const pod = (await tested.call("GET", "/api/v1/namespaces/n/pods/e")).body;
    assert.equal(pod.status.conditions.at(-1).reason, "EvictionByEvictionAPI");
  });
});
