import assert from "node:assert/strict";
import type { Http2ServerResponse } from "node:http2";
import { test } from "node:test";
import { Namespace, Pod } from "@dray/api/core/v1";
import { type Client, createClient, hasReached, httpsTransport, type Informer } from "@dray/client";
import { withApiServer } from "@dray/testing/api-server";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";
import { eventually, realTime } from "@dray/testing/eventually";
import { sendJSON, type TestServer, testServer } from "../transport/testing.ts";

interface Options {
  /** Supports `sendInitialEvents`. */
  streams?: boolean;
  /** Watches from before this revision are answered with 410. */
  compacted?: number;
}

/** Pods behind the wire format: enough of a server to be followed. */
class PodServer {
  revision = 10;
  readonly pods = new Map<string, { metadata: Record<string, unknown> }>();
  readonly watches = new Set<Http2ServerResponse>();
  readonly options: Options;
  server!: TestServer;

  constructor(options: Options = {}) {
    this.options = options;
  }

  static async start(options: Options = {}): Promise<PodServer> {
    const made = new PodServer(options);
    await made.listen();
    return made;
  }

  async listen(port?: number): Promise<void> {
    const { streams = true } = this.options;
    this.server = await testServer(
      (request, response) => {
        const query = new URL(request.url, "https://x").searchParams;
        if (!query.has("watch")) {
          const names = [...this.pods.keys()].sort();
          const from = Number(query.get("continue") ?? 0);
          const more = from + 2 < names.length;
          return sendJSON(response, 200, {
            kind: "PodList",
            metadata: {
              resourceVersion: String(this.revision),
              ...(more ? { continue: String(from + 2) } : {}),
            },
            items: names.slice(from, from + 2).map((name) => this.pods.get(name)),
          });
        }
        if (query.has("sendInitialEvents") && !streams) {
          return sendJSON(response, 422, {
            kind: "Status",
            code: 422,
            reason: "Invalid",
            message: "forbidden",
          });
        }
        response.writeHead(200, { "content-type": "application/json" });
        this.watches.add(response);
        response.on("close", () => this.watches.delete(response));
        if (query.has("sendInitialEvents")) {
          for (const pod of this.pods.values())
            write(response, "ADDED", { kind: "Pod", apiVersion: "v1", ...pod });
          const annotations = { "k8s.io/initial-events-end": "true" };
          write(response, "BOOKMARK", { metadata: { resourceVersion: String(this.revision), annotations } });
        } else if (Number(query.get("resourceVersion")) < (this.options.compacted ?? 0)) {
          write(response, "ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
          response.end();
        }
      },
      port === undefined ? {} : { port },
    );
  }

  put(name: string, labels: Record<string, string> = {}, uid = name): void {
    const type = this.pods.has(name) ? "MODIFIED" : "ADDED";
    const resourceVersion = String(++this.revision);
    const pod = { metadata: { namespace: "d", name, uid, resourceVersion, labels } };
    this.pods.set(name, pod);
    for (const watch of this.watches) write(watch, type, { kind: "Pod", apiVersion: "v1", ...pod });
  }

  remove(name: string): void {
    const pod = this.pods.get(name);
    this.pods.delete(name);
    const resourceVersion = String(++this.revision);
    for (const watch of this.watches)
      write(watch, "DELETED", { metadata: { ...pod?.metadata, resourceVersion } });
  }

  client(): Client {
    const transport = httpsTransport({ server: this.server.url, ca: this.server.ca });
    return createClient({ transport, userAgent: "test", random: () => 0.5 });
  }
}

function write(response: Http2ServerResponse, type: string, object: object): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}

function recorded(informer: Informer<Pod>): string[] {
  const seen: string[] = [];
  const label = (pod: Pod): string => pod.metadata.labels?.["v"] ?? "";
  informer.handle({
    add: (pod) => seen.push(`add ${pod.metadata.name}${label(pod)}`),
    update: (pod, old) => seen.push(`update ${pod.metadata.name}${label(old)}>${label(pod)}`),
    delete: (pod) => seen.push(`delete ${pod.metadata.name}${label(pod)}`),
  });
  return seen;
}

async function following(
  options: Options,
  run: (server: PodServer, informer: Informer<Pod>, seen: string[]) => Promise<void>,
): Promise<void> {
  const server = await PodServer.start(options);
  for (const name of ["a", "b", "c"]) server.put(name, { v: "1" });
  const client = server.client();
  const stop = new AbortController();
  const byVersion = { version: (pod: Pod) => [pod.metadata.labels?.["v"] ?? ""] };
  const informer = client.informer(Pod, { indexes: byVersion });
  const seen = recorded(informer);
  try {
    await informer.start(stop.signal);
    await run(server, informer, seen);
  } finally {
    stop.abort();
    client.close();
    await server.server.close();
  }
}

for (const streams of [true, false]) {
  const how = streams ? "streamed list" : "list and watch";

  test(`${how}: start resolves when the cache is synced, and changes follow`, () =>
    following({ streams }, async (server, informer, seen) => {
      assert.deepEqual(seen.splice(0).sort(), ["add a1", "add b1", "add c1"]);
      assert.ok(informer.synced && Object.isFrozen(informer.get({ namespace: "d", name: "a" })));
      await eventually("a watch", () => server.watches.size > 0);
      server.put("b", { v: "2" });
      server.put("d", { v: "1" });
      server.remove("c");
      await informer.until(() => informer.resourceVersion === String(server.revision));
      assert.deepEqual(seen, ["update b1>2", "add d1", "delete c1"]);
      const names = informer.byIndex("version", "1").map((pod) => pod.metadata.name);
      assert.deepEqual(names.sort(), ["a", "d"]);
      assert.equal(informer.byIndex("version", "2")[0]?.kind, "Pod");
      assert.ok(hasReached(informer, server.pods.get("d") as never));
      assert.throws(() => informer.byIndex("nonesuch", "1"), /no index nonesuch: .* version/);
    }));

  test(`${how}: after 410 Gone handlers are called with the differences`, () =>
    following({ streams, compacted: 20 }, async (server, informer, seen) => {
      seen.length = 0;
      await eventually("a watch", () => server.watches.size > 0);
      server.server.cut();
      await eventually("no watch", () => server.watches.size === 0);
      server.put("a", { v: "2" });
      server.remove("b");
      server.put("c", { v: "3" }, "another");
      server.put("d", { v: "1" });
      server.revision = 30;
      await informer.until(() => informer.resourceVersion === "30");
      assert.deepEqual(seen.sort(), ["add c3", "add d1", "delete b1", "delete c1", "update a1>2"]);
    }));
}

test("a broken watch continues from the last revision, bookmarks included, without a list", () =>
  following({}, async (server, informer) => {
    for (const watch of server.watches) write(watch, "BOOKMARK", { metadata: { resourceVersion: "19" } });
    await informer.until(() => informer.resourceVersion === "19");
    server.server.cut();
    await eventually("the watch goes on", () =>
      server.server.requests.some((line) => line.includes("resourceVersion=19")),
    );
    assert.equal(server.server.requests.filter((line) => line.includes("sendInitialEvents")).length, 1);
  }));

test("an informer follows a server that is restarted", () =>
  following({}, async (server, informer, seen) => {
    seen.length = 0;
    const { port } = server.server;
    await server.server.close();
    await realTime(100, "nothing says that it has tried to connect in vain");
    await server.listen(port);
    await eventually("a watch", () => server.watches.size > 0);
    server.put("a", { v: "9" });
    await informer.until(() => seen.length > 0);
    assert.deepEqual(seen, ["update a1>9"]);
  }));

test("a handler added later is called for cached objects; a removed one is not called", () =>
  following({}, async (server, informer, seen) => {
    seen.length = 0;
    const late: string[] = [];
    const remove = informer.handle({ add: (pod) => late.push(pod.metadata.name) });
    assert.deepEqual(late.sort(), ["a", "b", "c"]);
    remove();
    server.put("d", { v: "1" });
    await informer.until(() => seen.length > 0);
    assert.deepEqual(late.sort(), ["a", "b", "c"]);
  }));

test("at each resync period handlers are called for every object, and the cache does not change", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const stop = new AbortController();
    const events: string[] = [];
    const spaces = client.informer(Namespace, {
      fieldSelector: "metadata.name=default",
      resyncPeriod: 30_000,
    });
    spaces.handle({
      add: ({ metadata }) => events.push(`add ${metadata.name}`),
      update: (object, old) => events.push(`update ${object.metadata.name} ${object === old}`),
    });
    await spaces.start(stop.signal);
    assert.deepEqual(events.splice(0), ["add default"]);
    for (let i = 0; i < 2; i++) {
      clock.advance(29_999);
      await eventLoopTurns(2);
      assert.deepEqual(events, []);
      clock.advance(1);
      await eventLoopTurns(2);
      assert.deepEqual(events.splice(0), ["update default true"]);
    }
    stop.abort();
    clock.advance(30_000);
    await eventLoopTurns(2);
    assert.deepEqual(events, []);
  });
});

test("when the signal ends an informer, its promises resolve", async () => {
  const server = await PodServer.start();
  const client = server.client();
  const stop = new AbortController();
  const informer = client.informer(Pod);
  await informer.start(stop.signal);
  const waiting = informer.until(() => false);
  stop.abort();
  await waiting;
  client.close();
  await server.server.close();
});
