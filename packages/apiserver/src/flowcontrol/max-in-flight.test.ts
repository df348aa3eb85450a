import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { readExposition } from "@dray/testing/exposition";
import { type CallOptions, type TestServer, testServer } from "../testing/server.ts";
import { slowStore } from "./testing.ts";

const writer: CallOptions = { user: "writer", groups: ["writers"] };
const rights = {
  metadata: { name: "writers" },
  rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
};
const grant = {
  metadata: { name: "writers" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writers" },
  subjects: [
    { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "writers" },
    { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "system:kube-scheduler" },
  ],
};
const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string): object => ({ metadata: { name } });

test("without priority and fairness, a server responds with 429 beyond its limit, except to requests that keep a cluster alive", async () => {
  const { store, hold, release } = slowStore();
  const tested = await testServer({
    store,
    priorityAndFairness: false,
    maxMutatingRequestsInFlight: 2,
    maxRequestsInFlight: 2,
  });
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await tested.call("POST", `${rbac}/clusterroles`, { body: rights });
  await tested.call("POST", `${rbac}/clusterrolebindings`, { body: grant });
  const stop = new AbortController();
  hold();
  const waiting = [1, 2].map((index) => tested.call("POST", maps, { ...writer, body: map(`m${index}`) }));
  const refused = await tested.call("POST", maps, { ...writer, body: map("m3") });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.body, "Too many requests, please try again later.\n");
  // Reads, administrators, health checks and leader election have other seats.
  assert.equal((await tested.call("GET", maps, writer)).status, 200);
  assert.equal((await tested.call("GET", "/livez", writer)).status, 200);
  const lease = { metadata: { name: "kube-scheduler" }, spec: { holderIdentity: "me" } };
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  waiting.push(tested.call("POST", maps, { body: map("m4") }));
  waiting.push(tested.call("POST", leases, { body: lease, user: "system:kube-scheduler" }));
  assert.deepEqual(await terminations(tested), [["POST", "429", 1]]);
  assert.match(
    (await tested.call("GET", "/metrics")).body,
    /apiserver_current_inflight_requests\{request_kind="mutating"\} 2\n/,
  );
  release();
  const answers = await Promise.all(waiting);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201, 201],
  );
  assert.equal((await tested.call("POST", maps, { ...writer, body: map("m3") })).status, 201);
  stop.abort();
  await tested.server.close();
});

/** Requests for ConfigMaps that the server has ended: verb, code and number. */
async function terminations({ call }: TestServer): Promise<unknown[]> {
  const { samples = [] } =
    readExposition((await call("GET", "/metrics")).body).get("apiserver_request_terminations_total") ?? {};
  return samples.map(({ labels, value }) => {
    assert.deepEqual([labels["resource"], labels["component"]], ["configmaps", "apiserver"]);
    return [labels["verb"], labels["code"], value];
  });
}

test("without priority and fairness, watches take no seat", async () => {
  const tested = await testServer({ priorityAndFairness: false, maxRequestsInFlight: 1 });
  await tested.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", { body: rights });
  await tested.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { body: grant });
  const watched = [1, 2, 3].map(() => tested.watch("/api/v1/namespaces?watch=true", 99, writer));
  assert.equal((await tested.call("GET", maps, writer)).status, 200);
  await tested.server.close();
  await Promise.allSettled(watched);
});

test("a request that exceeds its timeout gets 504", async () => {
  const { store, hold, release } = slowStore();
  const timers: (() => void)[] = [];
  const clock = {
    ...systemClock,
    after(milliseconds: number, run: () => void): () => void {
      if (milliseconds !== 1500) return systemClock.after(milliseconds, run);
      timers.push(run);
      return () => {};
    },
  };
  const tested = await testServer({ store, clock });
  hold();
  const slow = tested.call("POST", `${maps}?timeout=1.5s`, { body: map("m") });
  while (timers.length === 0) await new Promise(setImmediate);
  timers[0]!();
  const answer = await slow;
  assert.equal(answer.status, 504);
  assert.equal(
    answer.body,
    '{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}\n',
  );
  release();
  assert.deepEqual(await terminations(tested), [["POST", "504", 1]]);
  const wrong = await tested.call("GET", `${maps}?timeout=5`);
  assert.equal(wrong.status, 400);
  assert.equal(
    wrong.body.message,
    'invalid timeout specified in the request URL - time: missing unit in duration "5"',
  );
  await tested.server.close();
});

test("health checks list those that pass, and those that were excluded", async () => {
  const tested = await testServer();
  const verbose = (await tested.call("GET", "/readyz?verbose&exclude=etcd&exclude=nosuch")).body;
  assert.match(verbose, /^\[\+\]ping ok\n\[\+\]etcd excluded: ok\n/);
  assert.match(
    verbose,
    /\n\[\+\]shutdown ok\nwarn: some health checks cannot be excluded: no matches for "nosuch"\nreadyz check passed\n$/,
  );
  assert.equal((await tested.call("GET", "/livez/ping")).body, "ok");
  assert.equal((await tested.call("GET", "/livez/shutdown")).status, 404);
  await tested.server.close();
});

test("service-account tokens can be verified with the published key", async () => {
  const tested = await testServer({ advertisedPort: 7443 });
  const configuration = await tested.call("GET", "/.well-known/openid-configuration");
  assert.equal(configuration.body.issuer, "https://kubernetes.default.svc");
  assert.equal(configuration.body.jwks_uri, "https://127.0.0.1:7443/openid/v1/jwks");
  const headers = { accept: "application/jwk-set+json" };
  const { keys } = JSON.parse((await tested.call("GET", "/openid/v1/jwks", { headers })).body);
  assert.equal((await tested.call("GET", "/openid/v1/jwks")).status, 406);
  assert.deepEqual(Object.keys(keys[0]).slice(0, 4), ["use", "kty", "kid", "alg"]);
  assert.equal((await tested.call("GET", "/openid/v1/jwks", { credential: { type: "none" } })).status, 403);
  await tested.server.close();
});
