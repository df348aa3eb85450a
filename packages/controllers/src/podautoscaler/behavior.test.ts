import assert from "node:assert/strict";
import { test } from "node:test";
import type { HorizontalPodAutoscalerSpec } from "@dray/api/autoscaling/v2";
import { ScalingHistory } from "./behavior.ts";

const second = 1000;

function spec(more: Partial<HorizontalPodAutoscalerSpec> = {}): HorizontalPodAutoscalerSpec {
  return {
    scaleTargetRef: { kind: "Deployment", name: "web" },
    minReplicas: 1,
    maxReplicas: 100,
    ...more,
  };
}

/** `replicas stability limit` of each recommendation, all from the present size, which follows. */
function follow(
  rules: HorizontalPodAutoscalerSpec,
  begin: number,
  recommended: readonly (readonly [at: number, replicas: number])[],
): string[] {
  const history = new ScalingHistory(begin, 0);
  let current = begin;
  return recommended.map(([at, replicas]) => {
    const result = history.normalize(rules, current, replicas, at * second);
    if (result.replicas !== current) history.record(rules, current, result.replicas, at * second);
    current = result.replicas;
    return `${current} ${result.stability.reason} ${result.limit.reason}`;
  });
}

test("without rules: at most twice as many at a time, and fewer only after five minutes", () => {
  assert.deepEqual(follow(spec(), 1, [[15, 50]]), ["4 ReadyForNewScale ScaleUpLimit"]);
  assert.deepEqual(follow(spec({ maxReplicas: 6 }), 5, [[15, 50]]), ["6 ReadyForNewScale TooManyReplicas"]);
  assert.deepEqual(
    follow(spec({ minReplicas: 2 }), 5, [
      [15, 1],
      [290, 1],
      [301, 1],
    ]),
    [
      "5 ScaleDownStabilized DesiredWithinRange",
      "5 ScaleDownStabilized DesiredWithinRange",
      "2 ReadyForNewScale TooFewReplicas",
    ],
  );
});

test("policies limit the change of a period, counting what was changed within it", () => {
  const behavior = {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [{ type: "Pods", value: 2, periodSeconds: 60 }],
    },
    scaleDown: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [{ type: "Percent", value: 50, periodSeconds: 60 }],
    },
  };
  assert.deepEqual(
    follow(spec({ behavior }), 4, [
      [0, 20],
      [30, 20],
      [61, 20],
      [90, 1],
      [151, 1],
    ]),
    [
      "6 ReadyForNewScale ScaleUpLimit",
      "6 ReadyForNewScale ScaleUpLimit",
      "8 ReadyForNewScale ScaleUpLimit",
      // Two of the eight are of this minute: of the six before three stay.
      "3 ReadyForNewScale ScaleDownLimit",
      "1 ReadyForNewScale DesiredWithinRange",
    ],
  );
});

test("of several policies the greatest change counts, or the least; Disabled changes nothing", () => {
  const policies = [
    { type: "Pods", value: 1, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ];
  const rules = (selectPolicy: string): HorizontalPodAutoscalerSpec =>
    spec({
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 0, selectPolicy, policies },
        scaleDown: { stabilizationWindowSeconds: 0, selectPolicy, policies },
      },
    });
  for (const [policy, up, down] of [
    ["Max", "20", "1"],
    ["Min", "11", "9"],
    ["Disabled", "10", "10"],
  ] as const) {
    assert.equal(follow(rules(policy), 10, [[15, 90]])[0]?.split(" ")[0], up, policy);
    assert.equal(follow(rules(policy), 10, [[15, 1]])[0]?.split(" ")[0], down, policy);
  }
});

test("a window keeps the lowest recommendation on the way up, the highest on the way down", () => {
  const policies = [{ type: "Percent", value: 1000, periodSeconds: 15 }];
  const behavior = {
    scaleUp: { stabilizationWindowSeconds: 60, selectPolicy: "Max", policies },
    scaleDown: {
      stabilizationWindowSeconds: 30,
      selectPolicy: "Max",
      policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
    },
  };
  assert.deepEqual(
    follow(spec({ behavior }), 4, [
      [15, 8],
      [61, 9],
      [76, 2],
      [100, 3],
    ]),
    [
      "4 ScaleUpStabilized DesiredWithinRange",
      "8 ScaleUpStabilized DesiredWithinRange",
      "8 ScaleDownStabilized DesiredWithinRange",
      "3 ReadyForNewScale DesiredWithinRange",
    ],
  );
});
