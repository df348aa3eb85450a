import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Point } from "./reading.ts";
import { NodeUsage, usageQuantities, windowText } from "./usage.ts";

/** Milliseconds; the containers of these tests are old unless stated otherwise. */
const now = 1_000_000;
const point = (at: number, cpuSeconds: number, startedAt = 0): Point => ({
  at,
  cpuSeconds,
  memoryBytes: 3 << 20,
  startedAt,
});

/** Returns a reading of one pod with these containers. */
function reading(containers: Readonly<Record<string, Point>>, node?: Point) {
  return { node, pods: new Map([["a/p", new Map(Object.entries(containers))]]) };
}

/** Returns cores and windows of the pod's containers. */
function usesOf(usage: NodeUsage): Record<string, [cores: number, window: number]> | undefined {
  const found = usage.pod("a/p");
  return found && Object.fromEntries([...found].map(([name, one]) => [name, [one.cores, one.window]]));
}

describe("usage is the rate between two readings", () => {
  test("of a node and of its pods", () => {
    const usage = new NodeUsage();
    usage.take(reading({ main: point(now, 10) }, { at: now, cpuSeconds: 100, memoryBytes: 5 }));
    assert.equal(usage.node, undefined);
    assert.equal(usesOf(usage), undefined);
    usage.take(reading({ main: point(now + 4000, 12) }, { at: now + 5000, cpuSeconds: 101, memoryBytes: 7 }));
    assert.deepEqual(usage.node, { at: now + 5000, window: 5000, cores: 0.2, memoryBytes: 7 });
    assert.deepEqual(usesOf(usage), { main: [0.5, 4000] });
  });

  test("a repeated point changes nothing", () => {
    const usage = new NodeUsage();
    for (const at of [now, now + 4000, now + 4000]) usage.take(reading({ main: point(at, at / 2000) }));
    assert.deepEqual(usesOf(usage), { main: [0.5, 4000] });
    usage.take(reading({ main: point(now + 6000, now / 2000 + 2) }));
    assert.deepEqual(usesOf(usage), { main: [0, 2000] });
  });

  test("a restarted container starts at zero", () => {
    const usage = new NodeUsage();
    usage.take(reading({ main: point(now, 10) }));
    usage.take(reading({ main: point(now + 5000, 1, now + 3000) }));
    assert.deepEqual(usesOf(usage), { main: [0.5, 2000] });
    usage.take(reading({ main: point(now + 7000, 2, now + 6500) }));
    assert.equal(usesOf(usage), undefined, "half a second is too short");
  });

  test("a young container is measured from its start, an old one from its second reading", () => {
    const usage = new NodeUsage();
    usage.take(reading({ main: point(now, 2, now - 8000) }));
    assert.deepEqual(usesOf(usage), { main: [0.25, 8000] });
    const old = new NodeUsage();
    old.take(reading({ main: point(now, 2, now - 60_000) }));
    assert.equal(usesOf(old), undefined);
  });

  test("a pod is omitted while one of its containers has no rate", () => {
    const usage = new NodeUsage();
    usage.take(reading({ main: point(now, 10), side: point(now, 5) }));
    usage.take(reading({ main: point(now + 1000, 11), side: point(now + 1000, 4) }));
    assert.equal(usesOf(usage), undefined, "CPU time that falls is not of the same container");
    usage.take(reading({ main: point(now + 2000, 12), side: point(now + 2000, 4.5) }));
    assert.deepEqual(usesOf(usage), { main: [1, 1000], side: [0.5, 1000] });
    usage.take({ node: undefined, pods: new Map() });
    assert.equal(usesOf(usage), undefined, "it has ended");
  });
});

test("quantities have metrics-server's format", () => {
  const usage = { at: now, window: 15_013, cores: 0.123456789, memoryBytes: 5 << 20 };
  assert.deepEqual(usageQuantities(usage), { cpu: "123456789n", memory: "5Mi" });
  assert.deepEqual(usageQuantities({ ...usage, cores: 2.5, memoryBytes: 5001 }), {
    cpu: "2500m",
    memory: "5001",
  });
  assert.equal(windowText(usage), "15.013s");
});
