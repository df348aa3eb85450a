import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "@dray/client";
import { readFleet } from "../fleet/read.ts";
import { DeviceHealths, type HealthRecord, healthConfigMap, readHealthConfigMap } from "./health.ts";

/** Timers fire a millisecond early, as those of Node may. */
function earlyClock(): Clock & { advance(to: number): void } {
  let now = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(milliseconds, run) {
      const timer = { at: now + Math.max(0, milliseconds - 1), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(to) {
      for (; now <= to; now++)
        for (const timer of [...timers].filter(({ at }) => at <= now)) {
          timers.delete(timer);
          timer.run();
        }
      now = to;
    },
  };
}

const [pool] = readFleet([
  {
    file: "fleet.yaml",
    text: `{apiVersion: dray.dev/v1alpha1, kind: Fleet, nodes: [{name: n1, drivers: [{driver: d.example.com, pools: [{devices: [
      {name: a, health: [{after: 10ms, health: Unhealthy, message: hot}, {after: 20ms, health: Healthy}]}]}]}]}]}`,
  },
]).nodes[0]!.drivers[0]!.pools as [never];

const ref = { driver: "d.example.com", pool: "n1", device: "a" };

function healths(record?: HealthRecord) {
  const clock = earlyClock();
  let changed = (): void => {};
  let current = record;
  const records = {
    get: () => current,
    onChange: (listener: () => void) => {
      changed = listener;
      return () => {};
    },
  };
  const all = new DeviceHealths({ driver: ref.driver, pools: [pool], records, clock });
  const [device] = (pool as { devices: never[] }).devices;
  return {
    clock,
    all,
    now: () => all.of("n1", device!),
    say(next: HealthRecord) {
      current = next;
      changed();
    },
  };
}

test("of schedule and records the newest word counts", () => {
  const { clock, now, say } = healths();
  assert.deepEqual(now(), { health: "Healthy" });
  say({ ...ref, health: "Unknown", since: 5 });
  assert.deepEqual(now(), { health: "Unknown" });
  clock.advance(10);
  assert.deepEqual(now(), { health: "Unhealthy", message: "hot" });
  say({ ...ref, health: "Unhealthy", message: "dead", effect: "NoExecute", since: 12 });
  assert.deepEqual(now(), { health: "Unhealthy", message: "dead", effect: "NoExecute" });
  clock.advance(20);
  assert.deepEqual(now(), { health: "Healthy" });
});

test("a record from before the start counts until the schedule says something", () => {
  const { clock, now } = healths({ ...ref, health: "Unhealthy", since: -1000 });
  assert.equal(now().health, "Unhealthy");
  clock.advance(20);
  assert.equal(now().health, "Healthy");
});

test("reports every change of the schedule, also if timers fire early", async () => {
  const { clock, all, now } = healths();
  const stop = new AbortController();
  const seen: string[] = [];
  const changes = (async () => {
    for await (const _ of all.changes(stop.signal)) seen.push(now().health);
  })();
  for (let time = 0; time <= 30; time++) {
    clock.advance(time);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stop.abort();
  await changes;
  assert.deepEqual(seen.slice(0, 3), ["Healthy", "Unhealthy", "Healthy"]);
});

test("a record round-trips as a ConfigMap; a malformed ConfigMap is ignored", () => {
  const record: HealthRecord = { ...ref, health: "Unhealthy", message: "hot", effect: "None", since: 1000 };
  const map = healthConfigMap(record);
  assert.deepEqual(readHealthConfigMap(map), record);
  assert.equal(map.metadata.name, healthConfigMap({ ...record, health: "Healthy" }).metadata.name);
  assert.notEqual(map.metadata.name, healthConfigMap({ ...record, pool: "n2" }).metadata.name);
  assert.equal(readHealthConfigMap({ data: { ...map.data, health: "Sick" } }), undefined);
  assert.equal(readHealthConfigMap({}), undefined);
});
