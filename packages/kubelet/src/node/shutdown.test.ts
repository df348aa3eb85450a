import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { silentLog } from "@dray/client";
import { skipClock } from "@dray/testing/clock";
import { partial } from "@dray/testing/partial";
import type { PodEnd } from "../types/pod-end.ts";
import { groupByPeriod, NodeShutdown, type PriorityPeriod, priorityPeriods } from "./shutdown.ts";

const critical = 2_000_000_000;
const pod = (name: string, priority?: number, grace = 30): Pod =>
  partial<Pod>({
    metadata: { name, namespace: "default", uid: name },
    spec: {
      containers: [],
      terminationGracePeriodSeconds: grace,
      ...(priority !== undefined && { priority }),
    },
  });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the period of critical pods is part of the whole period, in whole seconds", () => {
  const cases: [gracePeriod: number, gracePeriodCriticalPods: number, expected: number[]][] = [
    [0, 0, []],
    [30_000, 10_000, [20, 10]],
    [30_000, 0, [30, 0]],
    [30_000, 30_000, [0, 30]],
    [2500, 1000, [1, 1]],
    [10_000, 20_000, []],
  ];
  for (const [gracePeriod, gracePeriodCriticalPods, expected] of cases) {
    const periods = priorityPeriods({ gracePeriod, gracePeriodCriticalPods });
    assert.deepEqual(
      periods.map(({ seconds }) => seconds),
      expected,
    );
  }
  const [low, high] = priorityPeriods({ gracePeriod: 2000, gracePeriodCriticalPods: 1000 });
  assert.deepEqual([low?.priority, high?.priority], [0, critical]);
});

test("a pod belongs to the last period whose priority it reaches, or to the first", () => {
  const periods: PriorityPeriod[] = [10, 100, critical].map((priority) => ({ priority, seconds: 1 }));
  const cases: [priority: number | undefined, period: number][] = [
    [-5, 10],
    [undefined, 10],
    [10, 10],
    [99, 10],
    [100, 100],
    [critical - 1, 100],
    [critical, critical],
    [critical + 1000, critical],
  ];
  for (const [priority, expected] of cases) {
    const groups = groupByPeriod(periods, [{ pod: pod("a", priority) }]);
    assert.deepEqual(
      groups.map(({ period }) => period.priority),
      [expected],
      `${priority}`,
    );
  }
});

describe("shutdown", () => {
  function shutdownOf(pods: readonly Pod[], gracePeriods = [30_000, 10_000]) {
    const clock = skipClock();
    const ends = new Map<string, PodEnd>();
    const ended = new Map<string, () => void>();
    const events: string[] = [];
    let reports = 0;
    const [gracePeriod = 0, gracePeriodCriticalPods = 0] = gracePeriods;
    const shutdown = new NodeShutdown({
      clock,
      log: silentLog,
      periods: { gracePeriod, gracePeriodCriticalPods },
      signal: new AbortController().signal,
      pods: () =>
        pods.map((one) => ({
          pod: one,
          end: (end) => {
            ends.set(one.metadata.name, end);
            return new Promise((resolve) => ended.set(one.metadata.name, resolve));
          },
        })),
      reportNode: async () => void reports++,
      event: (reason, message) => void events.push(`${reason}: ${message}`),
    });
    return { clock, ends, ended, events, shutdown, reports: () => reports };
  }

  test("without periods nothing happens, and pods are admitted", async () => {
    const { shutdown, ends, reports } = shutdownOf([pod("a")], [0, 0]);
    await shutdown.run();
    assert.deepEqual(
      [ends.size, reports(), shutdown.problem, shutdown.refusal],
      [0, 0, undefined, undefined],
    );
  });

  test("critical pods end once the others have; a pod's own grace is the shorter one", async () => {
    const { shutdown, ends, ended, events, reports } = shutdownOf([
      pod("critical", critical),
      pod("slow", 0, 300),
      pod("quick", undefined, 5),
    ]);
    const run = shutdown.run();
    assert.equal(shutdown.run(), run, "a second call is the same shutdown");
    await turn();
    assert.equal(shutdown.problem, "node is shutting down");
    assert.deepEqual(shutdown.refusal, {
      reason: "NodeShutdown",
      message: "Pod was rejected as the node is shutting down.",
    });
    assert.deepEqual([...ends.keys()], ["slow", "quick"]);
    assert.deepEqual([ends.get("slow")?.graceSeconds, ends.get("quick")?.graceSeconds], [20, 5]);
    const { reason, message, isDisruption } = ends.get("slow") ?? {};
    assert.deepEqual(
      [reason, message, isDisruption],
      ["Terminated", "Pod was terminated in response to imminent node shutdown.", true],
    );
    assert.deepEqual(events, ["NodeShutdown: Shutdown manager detected shutdown event"]);
    ended.get("slow")?.();
    await turn();
    assert.equal(ends.has("critical"), false);
    ended.get("quick")?.();
    await turn();
    assert.equal(ends.get("critical")?.graceSeconds, 10);
    ended.get("critical")?.();
    await run;
    assert.equal(reports(), 1);
  });

  test("a pod that does not end delays the next period by its own period at most", async () => {
    const { shutdown, clock, ends } = shutdownOf([pod("stuck"), pod("critical", critical)]);
    let done = false;
    const run = shutdown.run().then(() => {
      done = true;
    });
    await turn();
    clock.skip(19_000);
    await turn();
    assert.equal(ends.has("critical"), false);
    clock.skip(1000);
    await turn();
    assert.equal(ends.has("critical"), true);
    clock.skip(10_000);
    await turn();
    assert.equal(done, false, "what was killed has a moment for its last status");
    clock.skip(2000);
    await run;
  });

  test("a period without pods ends at once", async () => {
    const { shutdown, ended } = shutdownOf([pod("critical", critical)]);
    const run = shutdown.run();
    await turn();
    ended.get("critical")?.();
    await run;
  });
});
