import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { eventLoopTurns } from "@dray/testing/clock";
import { testServer } from "../testing/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const claim = (name: string, more: object = {}) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name, ...more },
  spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } },
});

test("an object is created, read, changed and deleted, and a stale resourceVersion changes nothing", async () => {
  const { server, call } = await testServer();
  const created = await call("POST", maps, { body: { metadata: { name: "a" }, data: { k: "1" } } });
  assert.equal(created.status, 201);
  assert.match(created.body.metadata.uid, /^[0-9a-f-]{36}$/);
  assert.match(created.body.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.equal(created.body.metadata.managedFields[0].manager, "test");
  assert.equal((await call("POST", maps, { body: { metadata: { name: "a" } } })).status, 409);
  const changed = await call("PUT", `${maps}/a`, { body: { ...created.body, data: { k: "2" } } });
  assert.equal(changed.status, 200);
  assert.ok(Number(changed.body.metadata.resourceVersion) > Number(created.body.metadata.resourceVersion));
  const stale = await call("PUT", `${maps}/a`, { body: { ...created.body, data: { k: "3" } } });
  assert.equal(stale.status, 409);
  assert.equal(stale.body.reason, "Conflict");
  assert.deepEqual((await call("GET", `${maps}/a`)).body.data, { k: "2" });
  const same = await call("PUT", `${maps}/a`, { body: changed.body });
  assert.equal(
    same.body.metadata.resourceVersion,
    changed.body.metadata.resourceVersion,
    "no change is no write",
  );
  const deleted = await call("DELETE", `${maps}/a`);
  assert.equal(deleted.body.status, "Success");
  assert.equal((await call("GET", `${maps}/a`)).status, 404);
  await server.close();
});

test("generateName creates distinct names, and dryRun stores nothing", async () => {
  const { server, call } = await testServer();
  const names = new Set<string>();
  for (let index = 0; index < 5; index++) {
    const made = await call("POST", maps, { body: { metadata: { generateName: "g-" } } });
    assert.match(made.body.metadata.name, /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    names.add(made.body.metadata.name);
  }
  assert.equal(names.size, 5);
  const dry = await call("POST", `${maps}?dryRun=All`, { body: { metadata: { name: "dry" } } });
  assert.equal(dry.status, 201);
  assert.equal(dry.body.metadata.resourceVersion, undefined);
  assert.equal((await call("GET", `${maps}/dry`)).status, 404);
  await server.close();
});

test("a deleted object stays until its last finalizer is removed, and gets no new ones", async () => {
  const { server, call } = await testServer();
  await call("POST", maps, { body: { metadata: { name: "f", finalizers: ["a.example.com/x"] } } });
  const deleted = await call("DELETE", `${maps}/f`);
  assert.ok(deleted.body.metadata.deletionTimestamp);
  const more = { metadata: { finalizers: ["a.example.com/x", "b.example.com/y"] } };
  assert.equal((await call("PATCH", `${maps}/f`, { body: more })).status, 422);
  assert.equal((await call("PATCH", `${maps}/f`, { body: { metadata: { finalizers: null } } })).status, 200);
  assert.equal((await call("GET", `${maps}/f`)).status, 404);
  await server.close();
});

test("a status is written on its own path only", async () => {
  const { server, call } = await testServer();
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
  await call("POST", "/api/v1/namespaces/default/serviceaccounts", {
    body: { metadata: { name: "default" } },
  });
  const created = await call("POST", "/api/v1/namespaces/default/pods", {
    body: { ...pod, status: { phase: "Running" } },
  });
  assert.equal(created.status, 201);
  assert.equal(created.body.status.phase, "Pending");
  assert.equal(created.body.status.qosClass, "BestEffort");
  const url = "/api/v1/namespaces/default/pods/p";
  const main = await call("PATCH", url, {
    body: { metadata: { labels: { a: "b" } }, status: { phase: "Failed" } },
  });
  assert.equal(main.body.status.phase, "Pending");
  const status = await call("PATCH", `${url}/status`, {
    body: { status: { phase: "Running" }, spec: { nodeName: "x" } },
  });
  assert.equal(status.body.status.phase, "Running");
  assert.equal(status.body.spec.nodeName, undefined);
  await server.close();
});

test("a pod gets its service account's token, tolerations and a priority; a missing account is rejected", async () => {
  const { server, call } = await testServer();
  const pods = "/api/v1/namespaces/default/pods";
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
  const refused = await call("POST", pods, { body: pod });
  assert.equal(refused.status, 403);
  assert.match(refused.body.message, /error looking up service account default\/default/);
  await call("POST", "/api/v1/namespaces/default/serviceaccounts", {
    body: { metadata: { name: "default" } },
  });
  const { body } = await call("POST", pods, { body: pod });
  assert.match(body.spec.volumes[0].name, /^kube-api-access-/);
  assert.equal(
    body.spec.containers[0].volumeMounts[0].mountPath,
    "/var/run/secrets/kubernetes.io/serviceaccount",
  );
  assert.equal(body.spec.tolerations.length, 2);
  assert.equal(body.spec.priority, 0);
  const critical = {
    ...pod,
    metadata: { name: "q" },
    spec: { ...pod.spec, priorityClassName: "system-node-critical" },
  };
  assert.equal((await call("POST", pods, { body: critical })).body.spec.priority, 2_000_001_000);
  const unknown = { ...pod, metadata: { name: "r" }, spec: { ...pod.spec, priorityClassName: "none" } };
  assert.equal((await call("POST", pods, { body: unknown })).status, 403);
  await server.close();
});

test("a scheduled pod is deleted gracefully: its kubelet ends it with a grace period of zero", async () => {
  const { server, call } = await testServer({ disabledAdmissionPlugins: ["ServiceAccount"] });
  const pods = "/api/v1/namespaces/default/pods";
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
  await call("POST", pods, { body: pod });
  const binding = { metadata: { name: "p" }, target: { kind: "Node", name: "n1" } };
  assert.equal((await call("POST", `${pods}/p/binding`, { body: binding })).status, 201);
  assert.equal(
    (await call("POST", `${pods}/p/binding`, { body: binding })).status,
    409,
    "a pod is bound once",
  );
  const bound = (await call("GET", `${pods}/p`)).body;
  assert.equal(bound.spec.nodeName, "n1");
  assert.equal(bound.metadata.generation, 1, "the scheduler's choice is no change of the user's");
  const scheduled = bound.status.conditions.find((c: { type: string }) => c.type === "PodScheduled");
  assert.equal(scheduled?.status, "True");
  const deleting = await call("DELETE", `${pods}/p`);
  assert.equal(deleting.body.metadata.deletionGracePeriodSeconds, 30);
  const { uid } = deleting.body.metadata;
  const ended = await call("DELETE", `${pods}/p`, {
    body: { gracePeriodSeconds: 0, preconditions: { uid } },
  });
  assert.equal(ended.status, 200);
  assert.equal((await call("GET", `${pods}/p`)).status, 404);
  await server.close();
});

test("all pages of a list have the same revision", async () => {
  const { server, call } = await testServer();
  for (const name of ["a", "b", "c"]) await call("POST", maps, { body: { metadata: { name } } });
  const first = await call("GET", `${maps}?limit=2`);
  assert.deepEqual(
    first.body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["a", "b"],
  );
  assert.equal(first.body.metadata.remainingItemCount, 1);
  await call("DELETE", `${maps}/c`);
  await call("POST", maps, { body: { metadata: { name: "d" } } });
  const second = await call("GET", `${maps}?limit=2&continue=${first.body.metadata.continue}`);
  assert.deepEqual(
    second.body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["c"],
  );
  assert.equal(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
  await server.close();
});

test("a watch returns the events since a version, filtered by its selector", async () => {
  const { server, call, watch } = await testServer();
  const a = await call("POST", maps, { body: { metadata: { name: "a", labels: { x: "1" } } } });
  await call("PATCH", `${maps}/a`, { body: { metadata: { labels: { x: "2" } } } });
  await call("PATCH", `${maps}/a`, { body: { metadata: { labels: { x: "3" } } } });
  await call("DELETE", `${maps}/a`);
  const since = a.body.metadata.resourceVersion;
  const all = await watch(`${maps}?watch=true&resourceVersion=${since}`, 3);
  assert.deepEqual(
    all.map(({ type }) => type),
    ["MODIFIED", "MODIFIED", "DELETED"],
  );
  const some = await watch(`${maps}?watch=true&resourceVersion=${since}&labelSelector=x=2`, 2);
  assert.deepEqual(
    some.map(({ type }) => type),
    ["ADDED", "DELETED"],
  );
  assert.equal(some[1]!.object.metadata.labels.x, "2", "a leaving object is shown as it was");
  await server.close();
});

test("sendInitialEvents sends the state, the bookmark at its end, and then events", async () => {
  const { server, call, watch } = await testServer();
  await call("POST", maps, { body: { metadata: { name: "a" } } });
  const url = `${maps}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
  const following = watch(url, 3);
  // The watch begins before the second object exists.
  await eventLoopTurns();
  await call("POST", maps, { body: { metadata: { name: "b" } } });
  const events = await following;
  assert.deepEqual(
    events.map(({ type }) => type),
    ["ADDED", "BOOKMARK", "ADDED"],
  );
  assert.equal(events[1]!.object.metadata.annotations["k8s.io/initial-events-end"], "true");
  await server.close();
});

test("a watch from a compacted version ends with 410", async () => {
  const { server, watch } = await testServer();
  const [event] = await watch(`${maps}?watch=true&resourceVersion=1`, 1);
  assert.equal(event!.type, "ERROR");
  assert.equal(event!.object.code, 410);
  await server.close();
});

test("a second server on the same store finds everything, and creates nothing twice", async () => {
  const store = memoryStore(systemClock);
  const first = await testServer({ store });
  await first.call("POST", maps, { body: { metadata: { name: "kept" }, data: { big: "1" } } });
  await first.server.close();
  const revision = await store.revision();
  const second = await testServer({ store });
  assert.equal((await second.call("GET", `${maps}/kept`)).body.data.big, "1");
  assert.equal(await store.revision(), revision);
  await second.server.close();
});

test("a namespace stays Terminating until it is finalized, and rejects new objects", async () => {
  const { server, call, namespace } = await testServer();
  await namespace("n");
  const deleting = await call("DELETE", "/api/v1/namespaces/n");
  assert.equal(deleting.body.status.phase, "Terminating");
  const refused = await call("POST", "/api/v1/namespaces/n/configmaps", {
    body: { metadata: { name: "x" } },
  });
  assert.equal(refused.status, 403);
  assert.equal(refused.body.details.causes[0].reason, "NamespaceTerminating");
  const finalized = { metadata: { name: "n" }, spec: {} };
  assert.equal((await call("PUT", "/api/v1/namespaces/n/finalize", { body: finalized })).status, 200);
  assert.equal((await call("GET", "/api/v1/namespaces/n")).status, 404);
  assert.equal((await call("DELETE", "/api/v1/namespaces/default")).status, 403);
  await server.close();
});

test("one event is read as core/v1 and as events.k8s.io/v1", async () => {
  const { server, call } = await testServer();
  const written = {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "e" },
    regarding: { kind: "Pod", name: "p", namespace: "default" },
    note: "hello",
    reason: "Test",
    type: "Normal",
    action: "Testing",
    reportingController: "test",
    reportingInstance: "test-1",
    eventTime: "2026-01-02T03:04:05.000000Z",
  };
  assert.equal(
    (await call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", { body: written })).status,
    201,
  );
  const selected = await call("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=p");
  assert.equal(selected.body.items[0].message, "hello");
  assert.equal(selected.body.items[0].involvedObject.kind, "Pod");
  assert.equal(selected.body.items[0].note, undefined);
  await server.close();
});

test("scale changes the replicas of a deployment and nothing else", async () => {
  const { server, call } = await testServer();
  const deployment = {
    metadata: { name: "d" },
    spec: {
      replicas: 1,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  };
  const url = "/apis/apps/v1/namespaces/default/deployments";
  assert.equal((await call("POST", url, { body: deployment })).status, 201);
  const scaled = await call("PATCH", `${url}/d/scale`, { body: { spec: { replicas: 3 } } });
  assert.equal(scaled.status, 200);
  assert.equal(scaled.body.spec.replicas, 3);
  assert.equal(scaled.body.status.selector, "a=b");
  const read = await call("GET", `${url}/d`);
  assert.equal(read.body.spec.replicas, 3);
  assert.equal(read.body.metadata.generation, 2);
  await server.close();
});

test("names of Object.prototype are ordinary names", async () => {
  const { server, call } = await testServer();
  const inDefault = "/api/v1/namespaces/default";
  const quota = { metadata: { name: "q" }, spec: { hard: { pods: "1" }, scopes: ["constructor"] } };
  const refused = await call("POST", `${inDefault}/resourcequotas`, { body: quota });
  assert.match(refused.body.message, /spec\.scopes: Invalid value: \["constructor"\]: unsupported scope$/);
  await call("POST", `${inDefault}/configmaps`, { body: { metadata: { name: "c" } } });
  const headers = { "content-type": "constructor" };
  assert.equal((await call("PATCH", `${inDefault}/configmaps/c`, { headers, body: {} })).status, 415);
  assert.equal((await call("GET", `${inDefault}/configmaps?timeout=1constructor`)).status, 400);
  await server.close();
});

test("a patch to an apiVersion that is not a string is rejected like such a body", async () => {
  const { server, call } = await testServer();
  const url = "/api/v1/namespaces/default/configmaps";
  assert.equal((await call("POST", url, { body: { metadata: { name: "c" } } })).status, 201);
  const refused = await call("PATCH", `${url}/c`, {
    headers: { "content-type": "application/json-patch+json" },
    body: [{ op: "add", path: "/apiVersion", value: { toString: null } }],
  });
  assert.equal(refused.status, 422);
  assert.match(
    refused.body.message,
    /cannot unmarshal object into Go struct field \.apiVersion of type string$/,
  );
  await server.close();
});

test("a claim whose selector does not compile is rejected with the path of the expression", async () => {
  const { server, call } = await testServer();
  const body = claim("bad");
  Object.assign(body.spec.devices.requests[0]!.exactly, { selectors: [{ cel: { expression: "nope(" } }] });
  const refused = await call("POST", claims, { body });
  assert.equal(refused.status, 422);
  assert.equal(
    refused.body.details.causes[0].field,
    "spec.devices.requests[0].exactly.selectors[0].cel.expression",
  );
  assert.equal((await call("GET", `${claims}/bad`)).status, 404);
  await server.close();
});

test("an internal error is a Status 500 and is logged", async () => {
  const messages: string[] = [];
  const quiet = () => {};
  const log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (_: object, message: string) => messages.push(message),
  };
  let broken = false;
  const newId = (): string => {
    if (!broken) return randomUUID();
    broken = false;
    throw new Error("there are no more identities");
  };
  const { server, call } = await testServer({ newId, log });
  broken = true;
  const answer = await call("POST", maps, { body: { metadata: { name: "a" } } });
  assert.equal(answer.status, 500);
  assert.equal(answer.body.reason, "InternalError");
  assert.deepEqual(messages, ["a request has failed"]);
  await server.close();
});
