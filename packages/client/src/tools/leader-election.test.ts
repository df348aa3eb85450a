import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "@dray/api/coordination/v1";
import {
  type Client,
  ClientMetrics,
  type LeaderElectionOptions,
  leadWithLease,
  silentLog,
} from "@dray/client";
import { withApiServer } from "@dray/testing/api-server";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";

test("one candidate leads; after a release another leads; one that is cut off loses the lead in time", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const leading: string[] = [];
    let cut = false;
    const candidate = (identity: string, client: Client): { stop: AbortController; ended: Promise<void> } => {
      const stop = new AbortController();
      const ended = leadWithLease({
        client,
        clock,
        log: silentLog,
        random: () => 0,
        namespace: "kube-system",
        name: "the-lease",
        identity,
        signal: stop.signal,
        lead(signal) {
          leading.push(identity);
          return new Promise((resolve) =>
            signal.addEventListener("abort", () => {
              leading.splice(leading.indexOf(identity), 1);
              resolve();
            }),
          );
        },
      });
      return { stop, ended };
    };
    const one = connect();
    const two = connect();
    const cuttable: Client = {
      ...two,
      resource(kind) {
        if (cut) throw new Error("cut off");
        const resource = two.resource(kind);
        const guard =
          <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
          async (...args: A): Promise<R> => {
            if (cut) throw new Error("cut off");
            return call(...args);
          };
        return { ...resource, get: guard(resource.get), update: guard(resource.update) };
      },
    };
    const pass = async (milliseconds: number): Promise<void> => {
      for (let i = 0; i < milliseconds; i += 1000) {
        clock.advance(1000);
        await eventLoopTurns(3);
        assert.ok(leading.length <= 1, "never two leaders");
      }
    };
    const a = candidate("a", one);
    await eventLoopTurns();
    assert.deepEqual(leading, ["a"]);
    const b = candidate("b", cuttable);
    await pass(30_000);
    assert.deepEqual(leading, ["a"], "renewed again and again");
    a.stop.abort();
    await a.ended;
    await pass(3_000);
    assert.deepEqual(leading, ["b"]);
    const { spec } = await one.resource(Lease).get({ namespace: "kube-system", name: "the-lease" });
    assert.deepEqual([spec.holderIdentity, spec.leaseDurationSeconds, spec.leaseTransitions], ["b", 15, 1]);

    cut = true;
    const c = candidate("c", one);
    await pass(12_000);
    assert.deepEqual(leading, [], "b has given up, and c still waits for the lease to run out");
    await b.ended;
    await pass(8_000);
    assert.deepEqual(leading, ["c"]);
    c.stop.abort();
    await c.ended;
  });
});

/** A candidate whose requests can be made to hang, fail or be seen. */
function candidate(
  clock: ReturnType<typeof fakeClock>,
  client: Client,
  more: Partial<LeaderElectionOptions> = {},
): { leads: () => boolean; stop(): void; ended: Promise<void> } {
  const stop = new AbortController();
  let leads = false;
  const ended = leadWithLease({
    client,
    clock,
    log: silentLog,
    random: () => 0,
    ...ref,
    identity: "a",
    signal: stop.signal,
    lead(signal) {
      leads = true;
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          leads = false;
          resolve();
        }),
      );
    },
    ...more,
  });
  return { leads: () => leads, stop: () => stop.abort(), ended };
}

const ref = { namespace: "kube-system", name: "the-lease" };

async function passSeconds(clock: ReturnType<typeof fakeClock>, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    clock.advance(1_000);
    await eventLoopTurns(3);
  }
}

test("a leader whose server hangs stops leading after the renew deadline", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    let hangs = false;
    const never = new Promise<never>(() => {});
    const hanging: Client = {
      ...client,
      resource(kind) {
        const resource = client.resource(kind);
        return {
          ...resource,
          get: (...args) => (hangs ? never : resource.get(...args)),
          update: (...args) => (hangs ? never : resource.update(...args)),
        };
      },
    };
    const metrics = new ClientMetrics(() => clock.now());
    const status = (): string | undefined => /^leader_election_master_status.*/m.exec(metrics.text())?.[0];
    const a = candidate(clock, hanging, { metrics });
    assert.equal(status(), 'leader_election_master_status{name="the-lease"} 0');
    await eventLoopTurns();
    await passSeconds(clock, 20);
    assert.ok(a.leads());
    assert.equal(status(), 'leader_election_master_status{name="the-lease"} 1');
    hangs = true;
    await passSeconds(clock, 9);
    assert.ok(a.leads());
    await passSeconds(clock, 3);
    assert.ok(!a.leads());
    assert.equal(status(), 'leader_election_master_status{name="the-lease"} 0');
    // The lease cannot be given back either: that is tried as long.
    await passSeconds(clock, 11);
    await a.ended;
  });
});

test("a lease is taken over if it has not changed for its duration by our own clock, whatever its timestamps", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const leases = client.resource(Lease);
    const renewed = (time: string): object => ({
      holderIdentity: "b",
      leaseDurationSeconds: 15,
      renewTime: time,
      leaseTransitions: 4,
    });
    // The clock of the holder is years behind.
    await leases.create({ metadata: ref, spec: renewed("2001-01-01T00:00:00.000000Z") });
    const seen: string[] = [];
    const a = candidate(clock, client, { newLeader: (identity) => seen.push(identity) });
    await eventLoopTurns();
    await passSeconds(clock, 12);
    assert.ok(!a.leads());
    // Renewed, by a clock that is years ahead: it counts from now, when it was seen.
    await leases.patch(ref, "merge", { spec: renewed("2099-01-01T00:00:00.000000Z") });
    await passSeconds(clock, 8);
    // Another label is not a renewal.
    await leases.patch(ref, "merge", { metadata: { labels: { a: "b" } } });
    await passSeconds(clock, 6);
    assert.ok(!a.leads());
    await passSeconds(clock, 4);
    assert.ok(a.leads());
    const { spec } = await leases.get(ref);
    assert.deepEqual([spec.holderIdentity, spec.leaseTransitions], ["a", 5]);
    assert.deepEqual(seen, ["b", "a"]);
    a.stop();
    await a.ended;
    const released = (await leases.get(ref)).spec;
    assert.deepEqual(
      [released.holderIdentity ?? "", released.leaseDurationSeconds, released.leaseTransitions],
      ["", 1, 5],
    );
    assert.equal(released.renewTime, released.acquireTime);
  });
});

test("a renewal is one request; if the lease has changed meanwhile, it is read again", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const calls: string[] = [];
    const counted: Client = {
      ...client,
      resource(kind) {
        const resource = client.resource(kind);
        return {
          ...resource,
          get(...args) {
            calls.push("get");
            return resource.get(...args);
          },
          update(...args) {
            calls.push("update");
            return resource.update(...args);
          },
        };
      },
    };
    const a = candidate(clock, counted);
    await eventLoopTurns();
    assert.deepEqual(calls.splice(0), ["get"]);
    await passSeconds(clock, 2);
    assert.deepEqual(calls.splice(0), ["update"]);
    await client.resource(Lease).patch(ref, "merge", { metadata: { labels: { a: "b" } } });
    await passSeconds(clock, 2);
    assert.deepEqual(calls.splice(0), ["update", "get", "update"]);
    assert.ok(a.leads());
    a.stop();
    await a.ended;
  });
});

test("invalid durations are refused; an error of `lead` is thrown after the lease is released", async () => {
  const clock = fakeClock();
  await withApiServer({ clock }, async ({ admin: connect }) => {
    const client = connect();
    const refused = (more: Partial<LeaderElectionOptions>, message: string): Promise<void> =>
      assert.rejects(candidate(clock, client, more).ended, { name: "TypeError", message });
    await refused({ leaseDuration: 10_000 }, "leaseDuration must be greater than renewDeadline");
    await refused({ retryPeriod: 9_000 }, "renewDeadline must be greater than retryPeriod*JitterFactor");
    await refused({ identity: "" }, "Lock identity is empty");
    const failing = candidate(clock, client, { lead: () => Promise.reject(new Error("cannot lead")) });
    await assert.rejects(failing.ended, { message: "cannot lead" });
    assert.equal((await client.resource(Lease).get(ref)).spec.holderIdentity ?? "", "");
  });
});
