import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "@dray/api/coordination/v1";
import { type Client, leadWithLease, silentLog } from "@dray/client";
import { handClock, turns, withServer } from "./testing.ts";

test("one leads; when it gives the lease back another leads, and one that is cut off loses the lead in time", async () => {
  const clock = handClock();
  await withServer(clock, async (connect) => {
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
        clock.pass(1000);
        await turns(3);
        assert.ok(leading.length <= 1, "never two leaders");
      }
    };
    const a = candidate("a", one);
    await turns();
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
