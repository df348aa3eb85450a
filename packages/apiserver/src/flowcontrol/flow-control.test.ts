/** Upstream: test/e2e/apimachinery/flowcontrol.go; KEP-1040 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiResponse } from "@dray/client";
import { fakeClock } from "@dray/testing/clock";
import { type Answer, adminToken, type TestServer, testServer } from "../testing/server.ts";
import { allowAll, flowcontrol, flowSchema, priorityLevel, slowStore } from "./testing.ts";

const levelHeader = "x-kubernetes-pf-prioritylevel-uid";
const schemaHeader = "x-kubernetes-pf-flowschema-uid";
const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string): object => ({ metadata: { name } });

/** Creates a level of this name with these users, who may do everything; returns the UIDs of both objects. */
async function withLevel(
  tested: TestServer,
  users: readonly string[],
  shares: number,
  queuing?: object,
): Promise<{ level: string; schema: string }> {
  await allowAll(tested);
  const post = async (resource: string, body: object): Promise<string> => {
    const answer = await tested.call("POST", `${flowcontrol}/${resource}`, { body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.metadata.uid;
  };
  const level = await post("prioritylevelconfigurations", priorityLevel("tested", shares, queuing));
  return { level, schema: await post("flowschemas", flowSchema("tested", "tested", users)) };
}

const metric = async ({ call }: TestServer, name: string, labels: string): Promise<number> => {
  const text: string = (await call("GET", "/metrics")).body;
  const line = text.split("\n").find((each) => each.startsWith(`${name}{${labels}}`));
  assert.ok(line, `no ${name}{${labels}}`);
  return Number(line.split(" ").at(-1));
};

test("responses name the FlowSchema and the priority level of their request", async () => {
  const tested = await testServer();
  const { level, schema } = await withLevel(tested, ["noxu"], 1);
  const mine = await tested.call("GET", "/version", { user: "noxu", groups: ["system:authenticated"] });
  assert.equal(mine.headers[levelHeader], level);
  assert.equal(mine.headers[schemaHeader], schema);
  const uidOf = async (path: string): Promise<string> =>
    (await tested.call("GET", `${flowcontrol}/${path}/global-default`)).body.metadata.uid;
  const other = await tested.call("GET", "/version", { user: "foo" });
  assert.equal(other.headers[levelHeader], await uidOf("prioritylevelconfigurations"));
  assert.equal(other.headers[schemaHeader], await uidOf("flowschemas"));
  const missing = await tested.call("GET", `${maps}/none`, { user: "noxu" });
  assert.equal(missing.status, 404);
  assert.equal(missing.headers[schemaHeader], schema);
  const forbidden = await tested.call("GET", maps, { credential: { type: "none" } });
  assert.equal(forbidden.status, 403);
  assert.ok(forbidden.headers[schemaHeader]);
  await tested.server.close();
});

test("metrics contain the seats of a priority level as soon as it exists, and its counters", async () => {
  const tested = await testServer();
  await withLevel(tested, ["noxu"], 5);
  // 600 seats, of which 5 of 250 shares belong to this level.
  assert.equal(
    await metric(tested, "apiserver_flowcontrol_nominal_limit_seats", 'priority_level="tested"'),
    12,
  );
  await tested.call("GET", "/version", { user: "noxu" });
  const flow = 'flow_schema="tested",priority_level="tested"';
  assert.equal(await metric(tested, "apiserver_flowcontrol_dispatched_requests_total", flow), 1);
  assert.equal(await metric(tested, "apiserver_flowcontrol_current_executing_requests", flow), 0);
  assert.equal(
    await metric(
      tested,
      "apiserver_flowcontrol_request_wait_duration_seconds_count",
      `execute="true",${flow}`,
    ),
    1,
  );
  await tested.server.close();
});

test("a level without queues rejects excess requests, and other levels proceed", async () => {
  const { store, hold, release } = slowStore();
  const tested = await testServer({ store });
  await withLevel(tested, ["greedy"], 1);
  const seats = await metric(tested, "apiserver_flowcontrol_nominal_limit_seats", 'priority_level="tested"');
  hold();
  const working = Array.from({ length: seats }, (_, index) =>
    tested.call("POST", maps, { user: "greedy", body: map(`m${index}`) }),
  );
  const refused = await tested.call("POST", maps, { user: "greedy", body: map("more") });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.body, "Too many requests, please try again later.\n");
  assert.ok(refused.headers[levelHeader]);
  assert.equal((await tested.call("GET", maps, { user: "modest" })).status, 200);
  assert.equal((await tested.call("GET", maps)).status, 200);
  const labels = 'flow_schema="tested",priority_level="tested",reason="concurrency-limit"';
  assert.equal(await metric(tested, "apiserver_flowcontrol_rejected_requests_total", labels), 1);
  assert.match(
    (await tested.call("GET", "/metrics")).body,
    new RegExp(`apiserver_current_inflight_requests\\{request_kind="mutating"\\} ${seats}\n`),
  );
  release();
  for (const { status } of await Promise.all(working)) assert.equal(status, 201);
  assert.equal((await tested.call("POST", maps, { user: "greedy", body: map("more") })).status, 201);
  await tested.server.close();
});

/** Sends a write of the user that waits; the user's name is added to `order` when it completes. */
const sendIn = (tested: TestServer, order: string[]) => {
  let sent = 0;
  return async (user: string): Promise<Answer> => {
    const answer = await tested.call("POST", maps, { user, body: map(`m${sent++}`) });
    order.push(user);
    return answer;
  };
};

test("a user with many requests does not delay another one", async () => {
  const { store, hold, release } = slowStore();
  const tested = await testServer({ store, maxRequestsInFlight: 1, maxMutatingRequestsInFlight: 1 });
  const queuing = { queues: 64, handSize: 2, queueLengthLimit: 50 };
  await withLevel(tested, ["elephant", "mouse"], 1, queuing);
  hold();
  const order: string[] = [];
  const send = sendIn(tested, order);
  const crowd = Array.from({ length: 40 }, () => send("elephant"));
  const mouse = send("mouse");
  const dump: string = (await tested.call("GET", "/debug/api_priority_and_fairness/dump_priority_levels"))
    .body;
  assert.match(dump, /^tested, +\d+, +false, +false, +40, +1, +1, +0, +0, +0$/m);
  assert.match(
    (await tested.call("GET", "/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1")).body,
    /^tested, +tested, +\d+, +0, +mouse, .*, +mouse, +create, +\/api\/v1\/namespaces\/default\/configmaps, /m,
  );
  assert.match(
    (await tested.call("GET", "/debug/api_priority_and_fairness/dump_queues")).body,
    /^tested, +\d+, +1, /m,
  );
  release();
  for (const { status } of await Promise.all([...crowd, mouse])) assert.equal(status, 201);
  assert.ok(order.indexOf("mouse") < 8, order.join(" "));
  await tested.server.close();
});

test("a request leaves its queue when its time is over, or its client disconnects", async () => {
  const { store, hold, release } = slowStore();
  const clock = fakeClock();
  const tested = await testServer({ store, clock, maxRequestsInFlight: 1, maxMutatingRequestsInFlight: 1 });
  await withLevel(tested, ["me"], 1, { queues: 1, handSize: 1, queueLengthLimit: 50 });
  hold();
  const first = tested.call("POST", maps, { user: "me", body: map("a") });
  const second = tested.call("POST", `${maps}?timeout=8s`, { user: "me", body: map("b") });
  await new Promise(setImmediate);
  clock.advance(1_999);
  await new Promise(setImmediate);
  clock.advance(1);
  assert.equal((await second).status, 429);
  const labels = 'flow_schema="tested",priority_level="tested",reason="time-out"';
  assert.equal(await metric(tested, "apiserver_flowcontrol_rejected_requests_total", labels), 1);
  const gone = new AbortController();
  const third = tested.server.handle({
    method: "GET",
    url: maps,
    headers: { accept: "application/json", "impersonate-user": "me" },
    credential: { type: "bearer", token: adminToken },
    signal: gone.signal,
  });
  const waiting = (): Promise<number> =>
    metric(
      tested,
      "apiserver_flowcontrol_current_inqueue_requests",
      'flow_schema="tested",priority_level="tested"',
    );
  assert.equal(await waiting(), 1);
  gone.abort();
  assert.equal((await third).status, 429);
  assert.equal(await waiting(), 0);
  release();
  assert.equal((await first).status, 201);
  await tested.server.close();
});

/** Opens a watch of the user `me` that is not read yet. */
const openWatch = ({ server }: TestServer, signal: AbortSignal): Promise<ApiResponse> =>
  server.handle({
    method: "GET",
    url: "/api/v1/namespaces?watch=true",
    headers: { accept: "application/json", "impersonate-user": "me" },
    credential: { type: "bearer", token: adminToken },
    signal,
  });

test("a watch holds a seat until it has sent the initial events", async () => {
  const tested = await testServer({ maxRequestsInFlight: 1, maxMutatingRequestsInFlight: 1 });
  await withLevel(tested, ["me"], 1);
  const labels = 'flow_schema="tested",priority_level="tested"';
  const executing = (): Promise<number> =>
    metric(tested, "apiserver_flowcontrol_current_executing_requests", labels);
  const gone = new AbortController();
  const first = await openWatch(tested, gone.signal);
  assert.ok(first.type === "watch");
  assert.ok(first.headers[levelHeader]);
  assert.equal(await executing(), 1);
  assert.equal((await tested.call("GET", maps, { user: "me" })).status, 429);
  const events = first.events[Symbol.asyncIterator]();
  for (let count = 0; count < 4; count++) await events.next();
  void events.next();
  await new Promise(setImmediate);
  assert.equal(await executing(), 0);
  assert.equal((await tested.call("GET", maps, { user: "me" })).status, 200);
  // A watch whose client disconnects before reading keeps no seat.
  const left = new AbortController();
  await openWatch(tested, left.signal);
  assert.equal(await executing(), 1);
  left.abort();
  assert.equal(await executing(), 0);
  gone.abort();
  await tested.server.close();
});

test("a deleted level remains until its last request has ended, and takes no new ones", async () => {
  const tested = await testServer();
  const { schema } = await withLevel(tested, ["me"], 1);
  const gone = new AbortController();
  await openWatch(tested, gone.signal);
  const path = "/debug/api_priority_and_fairness/dump_priority_levels";
  assert.match((await tested.call("GET", path)).body, /^tested, +0, +false, +false, +0, +1,/m);
  await tested.call("DELETE", `${flowcontrol}/prioritylevelconfigurations/tested`);
  assert.match((await tested.call("GET", path)).body, /^tested, +0, +false, +true, +0, +1,/m);
  const next = await tested.call("GET", maps, { user: "me" });
  assert.equal(next.status, 200);
  assert.notEqual(next.headers[schemaHeader], schema);
  gone.abort();
  assert.doesNotMatch((await tested.call("GET", path)).body, /^tested,/m);
  await tested.server.close();
});

test("unused seats of one level are lent to another", async () => {
  const clock = fakeClock();
  const tested = await testServer({ clock });
  const url = `${flowcontrol}/prioritylevelconfigurations`;
  const level = priorityLevel("lender", 240) as { spec: { limited: Record<string, unknown> } };
  level.spec.limited["lendablePercent"] = 100;
  assert.equal((await tested.call("POST", url, { body: level })).status, 201);
  const seats = (name: string, of: string): Promise<number> =>
    metric(tested, `apiserver_flowcontrol_${of}_limit_seats`, `priority_level="${name}"`);
  assert.equal(await seats("lender", "lower"), 0);
  clock.advance(10_000);
  assert.ok((await seats("lender", "current")) < (await seats("lender", "nominal")));
  assert.ok((await seats("system", "current")) > (await seats("system", "nominal")));
  await tested.server.close();
});
