import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "@dray/client";
import { fakeClock } from "@dray/testing/clock";
import { readExposition } from "@dray/testing/exposition";
import { partial } from "@dray/testing/partial";
import type { Limiter } from "../flowcontrol/limiter.ts";
import type { Storage } from "../storage/storage.ts";
import { testServer } from "../testing/server.ts";
import { Metrics } from "./metrics.ts";

test("requests are counted by resource, and unknown names have no labels", async () => {
  const { server, call } = await testServer();
  const lines = async (): Promise<string[]> => (await call("GET", "/metrics")).body.split("\n");
  const requests = async (): Promise<string[]> =>
    (await lines()).filter((line) => line.startsWith("apiserver_request_total"));
  await call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {
    body: { metadata: { name: "a" } },
  });
  await call("GET", "/api/v1/namespaces/default/pods/none/log");
  await call("GET", "/apis/none.example.com/v1/none");
  await call("GET", "/api/v1/namespaces/default/pods/none/none");
  await call("NONE", "/livez");
  const first = await requests();
  for (const [method, path] of [
    ["POST", "configmaps"],
    ["GET", "pods"],
  ])
    assert.ok(
      first.some((line) => line.includes(`resource="${path}"`) && line.includes(`verb="${method}"`)),
      `${method} ${path}`,
    );
  assert.ok(first.some((line) => line.includes('subresource="log"')));
  assert.ok(first.some((line) => line.includes('verb="other"')));
  assert.ok(!first.some((line) => /none/i.test(line)), first.join("\n"));
  for (let at = 0; at < 100; at++) {
    await call("GET", `/apis/none${at}.example.com/v${at}/none${at}`);
    await call("GET", `/api/v1/none${at}`, { user: "stranger" });
    await call("PUT", `/api/v1/namespaces/default/pods/none/none${at}`, { user: "stranger" });
    await call(`NONE${at}`, "/livez");
    await call(`NONE${at}`, `/api/v1/namespaces/default/pods/none/none${at}`);
  }
  assert.ok((await requests()).length < first.length + 20);
  await server.close();
});

test("metrics are in the text format, and those of service levels leave out waits and dry runs", async () => {
  const { server, call } = await testServer();
  await call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {
    body: { metadata: { name: "a" } },
  });
  await call("POST", "/api/v1/namespaces/default/configmaps", { body: { metadata: { name: "a" } } });
  const read = readExposition((await call("GET", "/metrics")).body);
  const posts = (name: string) =>
    (read.get(name.replace(/_count$/, ""))?.samples ?? [])
      .filter(({ name: own, labels }) => own === name && labels["resource"] === "configmaps")
      .map(({ labels, value }) => [labels["verb"], labels["scope"], labels["dry_run"], value]);
  assert.deepEqual(posts("apiserver_request_duration_seconds_count"), [
    ["POST", "namespace", "All", 1],
    ["POST", "namespace", "", 1],
  ]);
  assert.deepEqual(posts("apiserver_request_sli_duration_seconds_count"), [
    ["POST", "namespace", undefined, 2],
  ]);
  assert.ok(read.get("workqueue_depth")?.samples.some(({ labels }) => labels["name"] === "apiservices"));
  assert.ok(read.get("process_resident_memory_bytes")!.samples[0]!.value > 1 << 20);
  const unavailable = read.get("aggregator_unavailable_apiservice")?.samples ?? [];
  assert.ok(unavailable.some(({ labels, value }) => labels["name"] === "v1.apps" && value === 0));
  const slis = readExposition((await call("GET", "/metrics/slis")).body);
  for (const name of ["kubernetes_healthcheck", "kubernetes_healthchecks_total"])
    assert.ok(
      slis.get(name)?.samples.some(({ labels }) => labels["type"] === "livez"),
      name,
    );
  await server.close();
});

test("the remaining life of the certificates of clients is counted, request by request", async () => {
  const { server, call } = await testServer({ clock: fakeClock() });
  const credential = {
    type: "certificate",
    commonName: "admin",
    organizations: ["system:masters"],
    validUntil: fakeClock().now() + 5000_000,
  } as const;
  await call("GET", "/api/v1/namespaces", { credential });
  await call("GET", "/api/v1/pods", { credential });
  const { samples = [] } =
    readExposition((await call("GET", "/metrics")).body).get(
      "apiserver_client_certificate_expiration_seconds",
    ) ?? {};
  const below = (bound: string) => samples.find(({ labels }) => labels["le"] === bound)?.value;
  assert.deepEqual([below("3600"), below("7200"), below("+Inf")], [0, 2, 2]);
  await server.close();
});

test("service levels leave out time in the queues of priority and fairness", () => {
  const metrics = new Metrics();
  const response = { method: "GET", info: undefined, served: undefined, code: 200, terminated: false };
  metrics.count({ ...response, milliseconds: 5000, waited: 4000 });
  const storage = partial<Storage>({
    caches: () => new Map(),
    cache: () => ({ prefix: "", range: () => [] }) as never,
  });
  const text = metrics.text(storage, partial<Limiter>({ metrics: () => [], count: () => 0 }), silentLog);
  const sums = ["apiserver_request_duration_seconds", "apiserver_request_sli_duration_seconds"].map(
    (name) =>
      readExposition(text)
        .get(name)
        ?.samples.find((sample) => sample.name === `${name}_sum`)?.value,
  );
  assert.deepEqual(sums, [5, 1]);
});
