import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { partial } from "@dray/testing/partial";
import {
  type PodMetricInput,
  replicasForShare,
  replicasForUsage,
  replicasForUtilization,
  replicasForValue,
} from "./replica-calculator.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const tolerances = { up: 0.1, down: 0.1 };

interface PodFacts {
  /** In thousandths; none measured if absent. */
  readonly used?: number;
  readonly phase?: string;
  readonly ready?: boolean;
  /** Seconds ago. */
  readonly started?: number;
  readonly request?: string | null;
}

function input(facts: readonly PodFacts[], more: Partial<PodMetricInput> = {}): PodMetricInput {
  const pods = facts.map(({ phase = "Running", ready = true, started = 3600, request = "1" }, index) => {
    const startTime = timeText(now - started * 1000);
    const resources = request === null ? {} : { requests: { cpu: request } };
    return partial<Pod>({
      metadata: { namespace: "d", name: `p${index}`, uid: `u${index}` },
      spec: { containers: [{ name: "c", image: "i", resources }] },
      status: {
        phase,
        startTime,
        conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: startTime }],
      },
    });
  });
  const usages = new Map(
    facts.flatMap(({ used }, index) =>
      used === undefined ? [] : [[`p${index}`, { value: used, at: now, window: 30_000 }] as const],
    ),
  );
  return { pods, usages, resource: "cpu", current: facts.length, tolerances, now, ...more };
}

const three = [{ used: 300 }, { used: 500 }, { used: 700 }];

test("as many pods as bring the share of the requests to its target, within the tolerance none", () => {
  assert.deepEqual(replicasForUtilization(input(three), 30), {
    replicas: 5,
    usage: 500,
    utilization: 50,
  });
  assert.equal(replicasForUtilization(input(three), 48).replicas, 3);
  assert.equal(replicasForUtilization(input(three), 100).replicas, 2);
  assert.equal(replicasForUsage(input(three), 250).replicas, 6);
});

test("pods that are not ready count as idle on the way up, and not at all on the way down", () => {
  const young = { used: 900, ready: false, started: 10 };
  assert.equal(replicasForUtilization(input([...three, young]), 30).replicas, 5);
  assert.equal(replicasForUtilization(input([...three, young]), 100).replicas, 2);
  assert.equal(replicasForUtilization(input([...three, { phase: "Pending" }]), 30).replicas, 5);
});

test("pods without a value count as what keeps them from tipping the scales", () => {
  // On the way down as using all they asked for, on the way up nothing.
  assert.equal(replicasForUtilization(input([...three, {}]), 100).replicas, 3);
  assert.equal(replicasForUtilization(input([...three, {}]), 40).replicas, 4, "no change at all");
  assert.equal(replicasForUtilization(input([...three, {}]), 20).replicas, 8);
});

test("failed pods and pods that go do not count; neither is nothing to count", () => {
  const failed = { used: 1000, phase: "Failed" };
  assert.equal(replicasForUtilization(input([...three, failed]), 30).replicas, 5);
  assert.throws(() => replicasForUtilization(input([]), 50), /no pods returned by selector/);
  assert.throws(
    () => replicasForUtilization(input([{ used: 5, ready: false, started: 5 }]), 50),
    /did not receive metrics for targeted pods \(pods might be unready\)/,
  );
  assert.throws(
    () => replicasForUtilization(input([{ used: 5, request: null }]), 50),
    /missing request for cpu in container c of Pod p0/,
  );
  assert.throws(
    () => replicasForUtilization(input(three, { container: "x" }), 50),
    /container x not found in Pod p0/,
  );
});

test("a value of a whole object is shared out among the pods that are ready, or each has its part", () => {
  const { pods } = input([...three, { ready: false }]);
  assert.equal(replicasForValue({ pods, wanted: 4 }, 20_000, 10_000, tolerances).replicas, 6);
  assert.equal(replicasForValue({ pods, wanted: 4 }, 10_500, 10_000, tolerances).replicas, 4);
  assert.equal(replicasForValue({ pods, wanted: 0 }, 25_000, 10_000, tolerances).replicas, 3);
  assert.deepEqual(replicasForShare(4, 90_000, 10_000, tolerances), { replicas: 9, usage: 22_500 });
  assert.equal(replicasForShare(4, 41_000, 10_000, tolerances).replicas, 4);
});
