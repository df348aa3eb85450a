import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import type { Lease } from "@dray/api/coordination/v1";
import { type Client, type Clock, ConnectionError, silentLog } from "@dray/client";
import { NodeLease } from "./lease.ts";

/** A fake clock in milliseconds. */
class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; run: () => void }>();
  now(): number {
    return this.#now;
  }
  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
  async pass(milliseconds: number): Promise<void> {
    for (const end = this.#now + milliseconds; this.#now < end; ) {
      this.#now += 100;
      for (const timer of [...this.#timers])
        if (timer.at <= this.#now && this.#timers.delete(timer)) timer.run();
      await new Promise(setImmediate);
    }
  }
}

/** A server of one lease. Requests fail by `failures` in order; `requests` records them with their times. */
function leaseServer(clock: Clock) {
  let stored: Lease | undefined;
  let version = 0;
  const failures: (Error | undefined)[] = [];
  const requests: string[] = [];
  const answer = async (verb: string, work: () => Lease): Promise<Lease> => {
    requests.push(`${clock.now()} ${verb}`);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return work();
  };
  const store = (lease: Lease): Lease => {
    stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++version) } };
    return stored;
  };
  const leases = {
    get: () =>
      answer("get", () => {
        if (stored === undefined) throw StatusError.of("NotFound", "no lease");
        return stored;
      }),
    create: (lease: Lease) => answer("create", () => store(lease)),
    update: (lease: Lease) =>
      answer("update", () => {
        if (stored === undefined) throw StatusError.of("NotFound", "no lease");
        if (lease.metadata.resourceVersion !== stored.metadata.resourceVersion)
          throw StatusError.of("Conflict", "somebody else has written it");
        return store(lease);
      }),
  };
  return {
    client: { resource: () => leases } as unknown as Client,
    failures,
    /** Returns the requests since the last call. */
    takeRequests: () => requests.splice(0),
    get lease() {
      return stored;
    },
    set lease(lease: Lease | undefined) {
      stored = lease;
    },
    store,
  };
}

async function started() {
  const clock = new FakeClock();
  const server = leaseServer(clock);
  const log = silentLog;
  const lease = new NodeLease({ client: server.client, clock, log, nodeName: "n", nodeUid: () => "u" });
  await lease.start();
  assert.deepEqual(server.takeRequests(), ["0 get", "0 create"]);
  return { clock, server, lease };
}

const lost = () => new ConnectionError("lost the connection");

test("a lease is renewed every ten seconds by an update alone, until it is stopped", async () => {
  const { clock, server, lease } = await started();
  assert.equal(server.lease?.spec.holderIdentity, "n");
  assert.equal(server.lease?.metadata.ownerReferences?.[0]?.uid, "u");
  await clock.pass(20_500);
  assert.deepEqual(server.takeRequests(), ["10000 update", "20000 update"]);
  assert.equal(server.lease?.spec.renewTime, "1970-01-01T00:00:20.000000Z");
  await lease.stop();
  await clock.pass(20_000);
  assert.deepEqual(server.takeRequests(), []);
});

test("a renewal that fails is tried five times at once", async () => {
  const { clock, server, lease } = await started();
  server.failures.push(lost(), lost(), lost(), lost());
  await clock.pass(10_500);
  assert.deepEqual(server.takeRequests(), Array(5).fill("10000 update"));
  assert.equal(server.lease?.spec.renewTime, "1970-01-01T00:00:10.000000Z");
  await lease.stop();
});

test("after five failures the lease is looked for with back-off, and renewed when it is found", async () => {
  const { clock, server, lease } = await started();
  server.failures.push(...Array.from({ length: 5 + 8 }, lost));
  await clock.pass(45_000);
  const waited = [0, 200, 600, 1400, 3000, 6200, 12_600, 19_600, 26_600];
  assert.deepEqual(server.takeRequests(), [
    ...Array(5).fill("10000 update"),
    ...waited.map((time) => `${10_000 + time} get`),
    "36600 update",
  ]);
  assert.equal(server.lease?.spec.renewTime, "1970-01-01T00:00:36.600000Z");
  await lease.stop();
});

test("a lease that was deleted is created again", async () => {
  const { clock, server, lease } = await started();
  server.lease = undefined;
  await clock.pass(10_500);
  assert.deepEqual(server.takeRequests(), [
    ...Array(5).fill("10000 update"),
    ...["10000 get", "10000 create"],
  ]);
  await clock.pass(10_000);
  assert.deepEqual(server.takeRequests(), ["20000 update"]);
  await lease.stop();
});

test("a lease that another client wrote is read and renewed at once", async () => {
  const { clock, server, lease } = await started();
  server.store(server.lease!);
  await clock.pass(10_500);
  assert.deepEqual(server.takeRequests(), ["10000 update", "10000 get", "10000 update"]);
  await lease.stop();
});

test("stopped while the server is away, it asks for nothing more", async () => {
  const { clock, server, lease } = await started();
  server.failures.push(...Array.from({ length: 20 }, lost));
  await clock.pass(12_000);
  server.takeRequests();
  await lease.stop();
  await clock.pass(60_000);
  assert.deepEqual(server.takeRequests(), []);
});
