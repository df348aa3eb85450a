import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { byDeletionPreference } from "./pod-ranking.ts";

const now = Date.parse("2026-01-02T00:00:00Z");
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

interface Facts {
  readonly node?: string;
  readonly phase?: string;
  /** Seconds since it became ready. */
  readonly ready?: number;
  readonly restarts?: number;
  readonly cost?: string;
  /** Seconds. */
  readonly age?: number;
}

function pod(
  name: string,
  { node = "n", phase = "Running", ready, restarts = 0, cost, age = 1000 }: Facts,
): Pod {
  const conditions =
    ready === undefined ? [] : [{ type: "Ready", status: "True", lastTransitionTime: ago(ready) }];
  return partial<Pod>({
    metadata: {
      name,
      uid: name,
      creationTimestamp: ago(age),
      ...(cost === undefined ? {} : { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } }),
    },
    spec: { nodeName: node },
    status: { phase, conditions, containerStatuses: [{ restartCount: restarts }] },
  });
}

/** Two pods, of which the one named `first` can be spared more easily. */
const pairs: readonly [why: string, first: Facts, second: Facts, ofJobsToo: boolean][] = [
  ["has no node", { node: "" }, {}, true],
  ["is pending", { phase: "Pending" }, {}, true],
  ["is of an unknown phase", { phase: "Unknown" }, {}, true],
  ["is not ready", {}, { ready: 10 }, true],
  ["has the lower cost", { ready: 500, cost: "-5" }, { ready: 10, cost: "5" }, false],
  [
    "has a cost, the other one that is no number",
    { ready: 500, cost: "-1" },
    { ready: 10, cost: "+1" },
    false,
  ],
  ["was ready later, by an order of magnitude", { ready: 10 }, { ready: 100 }, true],
  ["has restarted more often", { ready: 10, restarts: 2 }, { ready: 10, restarts: 1 }, true],
  ["is younger, by an order of magnitude", { age: 100 }, { age: 1000 }, true],
];

for (const [why, first, second, ofJobsToo] of pairs)
  test(`of two pods the one goes first that ${why}`, () => {
    const pods = [pod("a-second", second), pod("b-first", first)];
    const names = (list: readonly Pod[]): string[] => list.map(({ metadata }) => metadata.name);
    assert.deepEqual(names(byDeletionPreference(pods, { related: pods, now })), ["b-first", "a-second"]);
    if (ofJobsToo) assert.deepEqual(names(byDeletionPreference(pods)), ["b-first", "a-second"]);
  });

test("the pod with more neighbours of the same owner goes first, not the youngest", () => {
  const pods = [pod("a", { node: "m", ready: 10 }), pod("b", { node: "n", ready: 100 })];
  const neighbour = pod("other-set", { node: "n", ready: 1000 });
  const [first] = byDeletionPreference(pods, { related: [...pods, neighbour], now });
  assert.equal(first?.metadata.name, "b");
});

test("of pods of about the same age not always the youngest goes", () => {
  const pods = [pod("b", { ready: 100 }), pod("a", { ready: 101 })];
  assert.equal(byDeletionPreference(pods, { related: pods, now })[0]?.metadata.name, "a");
  assert.equal(byDeletionPreference(pods)[0]?.metadata.name, "b", "without siblings it does");
});
