import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ConfigMap, Pod } from "@dray/api/core/v1";
import {
  type ApiResponse,
  type Client,
  ConnectionError,
  createClient,
  httpsTransport,
  silentLog,
  type Transport,
} from "@dray/client";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";
import { sendJSON, testServer } from "../transport/testing.ts";

/** A transport with the responses of the test; an Error is thrown. */
function transportOf(answers: readonly (ApiResponse | Error)[]): Transport & { requests: string[] } {
  const requests: string[] = [];
  return {
    requests,
    async request({ method, url }) {
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push(`${method} ${url}`);
      if (answer instanceof Error) throw answer;
      return answer as ApiResponse;
    },
    close() {},
  };
}

function answer(status: number, headers: Record<string, string> = {}): ApiResponse {
  const object = Object.freeze({ kind: status < 400 ? "ConfigMap" : "Status", code: status, message: "m" });
  return { type: "body", status, headers, object, bytes: () => Buffer.from(JSON.stringify(object)) };
}

const ref = { namespace: "d", name: "n" };
const get = (client: Client): Promise<unknown> => client.resource(ConfigMap).get(ref);
const update = (client: Client): Promise<unknown> =>
  client.resource(ConfigMap).create({ metadata: { namespace: "d", name: "n" } });
const lost = new ConnectionError("lost", { lost: true });

const rules: readonly [
  rule: string,
  call: (client: Client) => Promise<unknown>,
  answers: readonly (ApiResponse | Error)[],
  requests: number,
  outcome: "answered" | "refused" | "lost",
][] = [
  ["a GET whose connection is lost is tried again", get, [lost, lost, answer(200)], 3, "answered"],
  ["ten times at most", get, [lost], 11, "lost"],
  ["a write is not: it may have been carried out", update, [lost, answer(201)], 1, "lost"],
  ["a server that was never reached is not", get, [new ConnectionError("refused"), answer(200)], 1, "lost"],
  [
    "429 with Retry-After, a write too",
    update,
    [answer(429, { "retry-after": "1" }), answer(201)],
    2,
    "answered",
  ],
  ["500 with Retry-After", get, [answer(500, { "retry-after": "1" }), answer(200)], 2, "answered"],
  ["ten times at most", get, [answer(429, { "retry-after": "1" })], 11, "refused"],
  ["429 without Retry-After is not", get, [answer(429), answer(200)], 1, "refused"],
  [
    "a date is no number of seconds",
    get,
    [answer(503, { "retry-after": "Fri, 31 Dec" }), answer(200)],
    1,
    "refused",
  ],
  ["404 with Retry-After is not", get, [answer(404, { "retry-after": "1" }), answer(200)], 1, "refused"],
];
for (const [rule, call, answers, requests, outcome] of rules) {
  test(`retries: ${rule} (${requests} ${outcome})`, async () => {
    const clock = fakeClock();
    const transport = transportOf(answers);
    const client = createClient({ transport, userAgent: "t", clock });
    let ended: string | undefined;
    const done = call(client).then(
      () => (ended = "answered"),
      (error) => (ended = error instanceof ConnectionError ? "lost" : "refused"),
    );
    while (ended === undefined) {
      await eventLoopTurns(1);
      clock.advance(1_000);
    }
    await done;
    assert.deepEqual([transport.requests.length, ended], [requests, outcome]);
  });
}

test("a watch whose connection is lost is not retried", async () => {
  const transport = transportOf([lost]);
  const client = createClient({ transport, userAgent: "t", clock: fakeClock() });
  await assert.rejects(client.resource(Pod).watch()[Symbol.asyncIterator]().next(), ConnectionError);
  assert.equal(transport.requests.length, 1);
});

test("qps and burst delay requests, but not watches", async () => {
  const clock = fakeClock();
  const transport = transportOf([answer(200)]);
  const client = createClient({ transport, userAgent: "t", clock, qps: 2, burst: 3 });
  for (let i = 0; i < 6; i++) void get(client);
  await eventLoopTurns(2);
  assert.equal(transport.requests.length, 3);
  await client
    .resource(Pod)
    .watch()
    [Symbol.asyncIterator]()
    .next()
    .catch(() => {});
  assert.equal(transport.requests.length, 4);
  for (const sent of [5, 6, 7]) {
    clock.advance(499);
    await eventLoopTurns(2);
    assert.equal(transport.requests.length, sent - 1);
    clock.advance(1);
    await eventLoopTurns(2);
    assert.equal(transport.requests.length, sent);
  }
});

for (const http1 of [false, true]) {
  const protocol = http1 ? "HTTP/1.1" : "HTTP/2";

  test(`${protocol}: responses may be compressed, and a truncated one is a lost connection`, async () => {
    const configMap = { kind: "ConfigMap", metadata: { name: "n" }, data: { k: "v".repeat(300_000) } };
    let asked = 0;
    const server = await testServer(
      (request, response) => {
        if (request.url.includes("plain"))
          return sendJSON(response, 200, { accept: request.headers["accept-encoding"] ?? "none" });
        const packed = gzipSync(JSON.stringify(configMap));
        // The first response is truncated.
        const sent = asked++ === 0 ? packed.subarray(0, 200) : packed;
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
        response.end(sent);
      },
      { http1 },
    );
    const clock = fakeClock();
    const transport = httpsTransport({ server: server.url, ca: server.ca });
    const client = createClient({ transport, userAgent: "t", clock });
    const plain = createClient({
      transport: httpsTransport({ server: server.url, ca: server.ca, disableCompression: true }),
      userAgent: "t",
    });
    try {
      let settled = false;
      const wanted = client
        .resource(ConfigMap)
        .get(ref)
        .finally(() => {
          settled = true;
        });
      while (!settled) {
        await eventLoopTurns(1);
        clock.advance(1_000);
      }
      assert.equal((await wanted).data?.["k"]?.length, 300_000);
      assert.equal(asked, 2);
      assert.equal(await client.text("GET", "/plain"), '{"accept":"gzip"}');
      assert.equal(await plain.text("GET", "/plain"), '{"accept":"none"}');
    } finally {
      client.close();
      plain.close();
      await server.close();
    }
  });
}

test("an informer logs warnings of the server unless ignoreWarnings is set", async () => {
  for (const ignoreWarnings of [false, true]) {
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object) => warnings.push(fields) };
    const transport = transportOf([answer(200, { warning: '299 - "old"' })]);
    const client = createClient({ transport, userAgent: "t", clock: fakeClock(), log });
    const stop = new AbortController();
    void client.informer(ConfigMap, { ignoreWarnings }).start(stop.signal);
    await eventLoopTurns(3);
    stop.abort();
    assert.ok(transport.requests.length > 0);
    assert.equal(warnings.length > 0, !ignoreWarnings);
    await get(client);
    assert.ok(warnings.length > 0);
  }
});
