import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "@dray/api/core/v1";
import { type ApiResponse, ClientMetrics, ConnectionError, createClient, type Transport } from "@dray/client";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";

function response(status: number, headers: Record<string, string> = {}): ApiResponse {
  const object = Object.freeze({ kind: status < 400 ? "ConfigMap" : "Status", code: status });
  return { type: "body", status, headers, object, bytes: () => Buffer.from(JSON.stringify(object)) };
}

/** A client with these responses, one after another, each after 100 ms; an Error is thrown. */
function fixture(responses: readonly (ApiResponse | Error)[]) {
  const clock = fakeClock();
  const metrics = new ClientMetrics(() => clock.now());
  const left = [...responses];
  const transport: Transport = {
    async request() {
      clock.advance(100);
      const next = left.shift();
      if (next === undefined || next instanceof Error) throw next;
      return next;
    },
    close() {},
  };
  const observer = metrics.requestsTo("https://10.0.0.1:6443/prefix");
  const client = createClient({ transport, userAgent: "t", clock, observer });
  const lines = (name: string): string[] =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line.startsWith(name));
  return { clock, client, metrics, lines };
}

const ref = { namespace: "d", name: "n" };

test("each attempt is counted, and a request is measured once, with its retries", async () => {
  const lost = new ConnectionError("lost", { lost: true });
  const { clock, client, lines } = fixture([response(429, { "retry-after": "2" }), lost, response(200)]);
  const done = client.resource(ConfigMap).get(ref);
  for (let i = 0; i < 4; i++) {
    await eventLoopTurns(2);
    clock.advance(1000);
  }
  await done;
  const host = 'host="10.0.0.1:6443"';
  assert.deepEqual(lines("rest_client_requests_total"), [
    `rest_client_requests_total{code="429",method="GET",${host}} 1`,
    `rest_client_requests_total{code="<error>",method="GET",${host}} 1`,
    `rest_client_requests_total{code="200",method="GET",${host}} 1`,
  ]);
  const duration = "rest_client_request_duration_seconds";
  assert.deepEqual(lines(`${duration}_count`), [`${duration}_count{verb="GET",${host}} 1`]);
  assert.deepEqual(lines(`${duration}_bucket{verb="GET",${host},le="2"}`), [
    `${duration}_bucket{verb="GET",${host},le="2"} 0`,
  ]);
  assert.deepEqual(lines(`${duration}_bucket{verb="GET",${host},le="4"}`), [
    `${duration}_bucket{verb="GET",${host},le="4"} 1`,
  ]);
});

test("refused requests are measured; watches and streams are counted only", async () => {
  const bytes: ApiResponse = { type: "bytes", status: 200, headers: {}, chunks: (async function* () {})() };
  const watch: ApiResponse = { type: "watch", status: 200, headers: {}, events: (async function* () {})() };
  const { client, lines } = fixture([response(409), bytes, watch]);
  await assert.rejects(client.resource(ConfigMap).create({ metadata: ref }));
  for await (const _ of client.stream("/api/v1/namespaces/d/pods/p/log?follow=true"));
  for await (const _ of client.resource(ConfigMap).watch());
  const counts = lines("rest_client_requests_total").map((line) => line.replace(/,host="[^"]*"/, ""));
  assert.deepEqual(counts, [
    'rest_client_requests_total{code="409",method="POST"} 1',
    'rest_client_requests_total{code="200",method="GET"} 2',
  ]);
  assert.deepEqual(
    lines("rest_client_request_duration_seconds_count").map((line) => line.replace(/,host="[^"]*"/, "")),
    ['rest_client_request_duration_seconds_count{verb="POST"} 1'],
  );
});

test("texts, types and buckets are upstream's", () => {
  const { metrics, lines } = fixture([]);
  metrics.requestsTo("https://h").begin("GET")();
  metrics.setLeader("l", false);
  metrics.setLeader("l", true);
  assert.deepEqual(lines("#"), [
    "# HELP rest_client_request_duration_seconds [ALPHA] Request latency in seconds. Broken down by verb, and host.",
    "# TYPE rest_client_request_duration_seconds histogram",
    "# HELP rest_client_requests_total [ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
    "# TYPE rest_client_requests_total counter",
    "# HELP leader_election_master_status [ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    "# TYPE leader_election_master_status gauge",
  ]);
  const bounds = lines("rest_client_request_duration_seconds_bucket").map(
    (line) => /le="([^"]+)"/.exec(line)?.[1],
  );
  assert.equal(bounds.join(" "), "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60 +Inf");
  assert.deepEqual(lines("leader_election_master_status"), ['leader_election_master_status{name="l"} 1']);
});
