import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";
import { healthChecks } from "./checks.ts";
import { healthResponse } from "./health.ts";
import { type StartStep, Startup } from "./startup.ts";

/** The checks of kube-apiserver 1.37 that this server has, in the order of `/readyz?verbose`. */
const names = `ping etcd etcd-readiness informer-sync
  poststarthook/start-apiserver-admission-initializer poststarthook/generic-apiserver-start-informers
  poststarthook/priority-and-fairness-config-consumer poststarthook/priority-and-fairness-filter
  poststarthook/start-apiextensions-informers poststarthook/start-apiextensions-controllers
  poststarthook/crd-informer-synced poststarthook/start-system-namespaces-controller
  poststarthook/start-cluster-authentication-info-controller poststarthook/storage-readiness
  poststarthook/start-legacy-token-tracking-controller poststarthook/start-service-ip-repair-controllers
  poststarthook/rbac/bootstrap-roles poststarthook/scheduling/bootstrap-system-priority-classes
  poststarthook/priority-and-fairness-config-producer poststarthook/bootstrap-controller
  poststarthook/start-kubernetes-service-cidr-controller poststarthook/start-kube-aggregator-informers
  poststarthook/apiservice-status-local-available-controller
  poststarthook/apiservice-status-remote-available-controller
  poststarthook/apiservice-registration-controller poststarthook/apiservice-discovery-controller
  poststarthook/kube-apiserver-autoregistration autoregister-completion
  poststarthook/apiservice-openapi-controller poststarthook/apiservice-openapiv3-controller
  shutdown`.split(/\s+/);
const readiness = new Set(["etcd-readiness", "informer-sync", "shutdown"]);

const lines = (checks: readonly string[], root: string): string =>
  [...checks.map((name) => `[+]${name} ok`), `${root} check passed`, ""].join("\n");

test("verbose health pages list the checks of kube-apiserver in its order", async () => {
  const { call, server } = await testServer({ kubernetesVersion: "1.37" });
  assert.equal((await call("GET", "/readyz?verbose")).body, lines(names, "readyz"));
  const alive = names.filter((name) => !readiness.has(name));
  assert.equal((await call("GET", "/livez?verbose=")).body, lines(alive, "livez"));
  assert.equal((await call("GET", "/healthz?verbose")).body, lines(alive, "healthz"));
  for (const name of names) {
    const { status, body } = await call("GET", `/readyz/${name}`);
    assert.deepEqual([status, body], [200, "ok"], name);
    assert.equal((await call("GET", `/livez/${name}`)).status, readiness.has(name) ? 404 : 200, name);
  }
  const { body } = await call("GET", "/livez?verbose&exclude=etcd&exclude=nothing&exclude=log");
  assert.match(body, /^\[\+\]ping ok\n\[\+\]etcd excluded: ok\n/);
  assert.match(body, /\nwarn: some health checks cannot be excluded: no matches for "log","nothing"\nlivez/);
  await server.close();
});

test("names of checks depend on the release and on API Priority and Fairness", async () => {
  const { call, server } = await testServer({ kubernetesVersion: "1.35", priorityAndFairness: false });
  const { body } = await call("GET", "/readyz?verbose");
  assert.doesNotMatch(body, /storage-readiness|priority-and-fairness-filter/);
  assert.match(body, /\n\[\+\]poststarthook\/max-in-flight-filter ok\n/);
  await server.close();
});

test("a check fails for as long as what it names does not work", () => {
  const startup = new Startup({ minor: 37, hasFlowControl: true });
  const storage = { healthy: true, following: true };
  let hasEnded = false;
  const checks = healthChecks({ storage, startup, hasEnded: () => hasEnded });
  const page = (path: string, query = ""): readonly [number, string] => {
    const response = healthResponse(path, new URLSearchParams(query), checks);
    assert.ok(response?.type === "body");
    return [response.status, Buffer.from(response.bytes()).toString()];
  };
  const failed = (root: string): readonly string[] =>
    [...page(root)[1].matchAll(/^\[-\](\S+) failed: reason withheld$/gm)].map(([, name]) => name!);
  assert.equal(page("/livez")[0], 500);
  assert.equal(failed("/livez").length, startup.steps.length);
  startup.complete(...startup.steps.filter((step: StartStep) => step !== "bootstrap-controller"));
  assert.deepEqual(failed("/livez"), ["poststarthook/bootstrap-controller"]);
  assert.equal(page("/livez", "exclude=poststarthook/bootstrap-controller")[0], 200);
  startup.complete("bootstrap-controller");
  assert.deepEqual(page("/livez"), [200, "ok"]);
  storage.healthy = false;
  assert.deepEqual([failed("/livez"), failed("/readyz")], [["etcd"], ["etcd", "etcd-readiness"]]);
  assert.match(page("/livez/etcd")[1], /^internal server error: the store does not respond/);
  storage.following = false;
  assert.deepEqual(failed("/readyz"), ["etcd", "etcd-readiness", "informer-sync"]);
  Object.assign(storage, { healthy: true, following: true });
  hasEnded = true;
  assert.deepEqual([page("/livez")[0], failed("/readyz")], [200, ["shutdown"]]);
});
