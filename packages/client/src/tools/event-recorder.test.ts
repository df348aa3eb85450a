import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { Event } from "@dray/api/core/v1";
import {
  type Client,
  ConnectionError,
  createClient,
  createEventRecorder,
  type EventRecorder,
} from "@dray/client";
import { withApiServer } from "@dray/testing/api-server";
import { fakeClock } from "@dray/testing/clock";

const about = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default", uid: "u", resourceVersion: "7" },
};

function recorder(
  client: Client,
  clock: ReturnType<typeof fakeClock>,
  warnings: string[] = [],
): EventRecorder {
  const nothing = (): void => {};
  const log = {
    debug: nothing,
    info: nothing,
    error: nothing,
    warn: (_fields: object, message: string) => warnings.push(message),
  };
  return createEventRecorder({ client, clock, log, random: Math.random, component: "me", host: "here" });
}

test("an event has reason, object, reporter and time; a repetition increments its count", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const events = recorder(client, clock);
    events.event(about, "Warning", "Broken", "it is");
    await events.flush();
    clock.advance(60_000);
    for (let i = 0; i < 3; i++) events.event(about, "Warning", "Broken", "it is");
    events.event(about, "Warning", "Broken", "in another way");
    await events.flush();
    const { items } = await client
      .resource(Event)
      .list({ namespace: "default", fieldSelector: "involvedObject.name=p" });
    assert.equal(items.length, 2);
    const [first] = items.filter(({ message }) => message === "it is");
    assert.match(first?.metadata.name ?? "", /^p\.[0-9a-f]+$/);
    const { involvedObject, reason, type, count, firstTimestamp, lastTimestamp, source, reportingComponent } =
      first ?? ({} as Event);
    assert.deepEqual(involvedObject, { ...about.metadata, apiVersion: "v1", kind: "Pod" });
    assert.deepEqual([type, reason, count, reportingComponent], ["Warning", "Broken", 4, "me"]);
    assert.deepEqual(source, { component: "me", host: "here" });
    assert.deepEqual([firstTimestamp, lastTimestamp], ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"]);
  });
});

test("events of objects without a namespace are in default; an expired event is created again", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const events = recorder(client, clock);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n", uid: "u" } };
    events.event(node, "Normal", "Ready", "yes");
    await events.flush();
    const list = async (): Promise<readonly Event[]> =>
      (await client.resource(Event).list({ namespace: "default", fieldSelector: "involvedObject.name=n" }))
        .items;
    const [event] = await list();
    assert.equal(event?.involvedObject.namespace, undefined);
    await client.resource(Event).delete({ namespace: "default", name: event?.metadata.name ?? "" });
    events.event(node, "Normal", "Ready", "yes");
    await events.flush();
    const [again] = await list();
    assert.deepEqual([again?.count, again?.metadata.name === event?.metadata.name], [1, false]);
  });
});

test("an unreachable server does not block: events that cannot be written are logged", async () => {
  const clock = fakeClock();
  const transport = {
    request: async () => {
      throw new ConnectionError("away");
    },
    close() {},
  };
  const warnings: string[] = [];
  const events = recorder(createClient({ transport, userAgent: "t", clock }), clock, warnings);
  for (let i = 0; i < 1001; i++) {
    const other = { ...about, metadata: { ...about.metadata, name: `p${i}` } };
    events.event(other, "Normal", "R", String(i));
  }
  assert.deepEqual(warnings, ["an event was dropped"]);
  // `flush` does not wait for the server.
  await events.flush();
  assert.equal(warnings.length, 1001);
});

test("a write without a response is tried twelve times at most; one that is refused is not retried", async () => {
  for (const [failure, failures, tries, written] of [
    [new ConnectionError("lost", { lost: true }), 3, 4, true],
    [new ConnectionError("away"), 100, 12, false],
    [StatusError.of("InternalError", "no"), 100, 1, false],
  ] as const) {
    const clock = fakeClock();
    let asked = 0;
    const transport = {
      async request() {
        asked++;
        if (asked <= failures) throw failure;
        const object = { metadata: { name: "e" } };
        return { type: "body", status: 201, headers: {}, object, bytes: () => new Uint8Array() } as const;
      },
      close() {},
    };
    const warnings: string[] = [];
    const events = recorder(createClient({ transport, userAgent: "t", clock }), clock, warnings);
    events.event(about, "Normal", "R", "m");
    for (let pass = 0; pass < 50; pass++) {
      clock.advance(10_000);
      await new Promise(setImmediate);
    }
    await events.flush();
    assert.deepEqual([asked, warnings.length === 0], [tries, written], failure.message);
  }
});

test("a long message is cut first: events that differ beyond the limit are the same", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const events = recorder(client, clock);
    for (const end of ["a", "b"]) events.event(about, "Warning", "Broken", `${"x".repeat(5_000_000)}${end}`);
    await events.flush();
    const { items } = await client.resource(Event).list({ namespace: "default" });
    assert.deepEqual(
      items.map(({ message, count }) => [message, count]),
      [[`${"x".repeat(1021)}...`, 2]],
    );
  });
});

test("an event of an object that does not exist yet has no uid, and is written", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const events = recorder(client, clock);
    const metadata = { name: "later", namespace: "default" };
    for (const uid of [undefined, ""]) {
      const planned = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { ...metadata, ...(uid === "" && { uid }) },
      };
      events.event(planned, "Warning", "Refused", `not now${uid}`);
    }
    await events.flush();
    const { items } = await client.resource(Event).list({ namespace: "default" });
    assert.deepEqual(
      items.map(({ involvedObject }) => [involvedObject.name, involvedObject.uid || undefined]),
      [
        ["later", undefined],
        ["later", undefined],
      ],
    );
  });
});

test("similar events are combined from the tenth on, and each object has 25 at once", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const events = recorder(client, clock);
    const list = async (): Promise<readonly Event[]> =>
      (await client.resource(Event).list({ namespace: "default" })).items;
    for (let i = 0; i < 40; i++) {
      clock.advance(1000);
      events.event(about, "Warning", "Broken", `pod-${i} is`);
      await events.flush();
    }
    const combined = (items: readonly Event[]) =>
      items.filter(({ message }) => message?.startsWith("(combined from similar events): "));
    let items = await list();
    assert.equal(items.length, 10);
    // The limit lets 25 of the 40 through: nine by themselves, sixteen as one.
    assert.deepEqual(
      combined(items).map(({ message, count }) => [message, count]),
      [["(combined from similar events): pod-24 is", 16]],
    );
    // One more after five minutes tells of all that were not written.
    clock.advance(300_000);
    events.event(about, "Warning", "Broken", "pod-40 is");
    await events.flush();
    items = await list();
    assert.deepEqual(
      combined(items).map(({ message, count }) => [message, count]),
      [["(combined from similar events): pod-40 is", 32]],
    );
    // Another type, and another object, have not used up theirs.
    events.event(about, "Normal", "Mended", "it is");
    events.event({ ...about, metadata: { ...about.metadata, name: "q" } }, "Warning", "Broken", "it is");
    await events.flush();
    assert.equal((await list()).length, 12);
  });
});

test("after ten minutes without a similar event, events are single again", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const events = recorder(client, clock);
    for (let i = 0; i < 12; i++) events.event(about, "Warning", "Broken", `pod-${i} is`);
    await events.flush();
    clock.advance(600_001);
    events.event(about, "Warning", "Broken", "pod-12 is");
    await events.flush();
    const { items } = await client.resource(Event).list({ namespace: "default" });
    assert.equal(items.filter(({ message }) => message === "pod-12 is").length, 1);
  });
});
