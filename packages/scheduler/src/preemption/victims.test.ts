import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import { partial } from "@dray/testing/partial";
import { SchedulingCycle } from "../cycle/scheduling-cycle.ts";
import type { Candidate } from "../framework/candidate.ts";
import { extensionPoints } from "../framework/extension-points.ts";
import type { Plugin } from "../framework/framework.ts";
import { NodeInfo } from "../framework/node-info.ts";
import { leastDisruptive } from "./choose.ts";
import { singleUnits } from "./units.ts";
import { selectVictims } from "./victims.ts";

interface PodTraits {
  readonly priority?: number;
  readonly cpu?: number;
  readonly labels?: Record<string, string>;
  /** Seconds. */
  readonly started?: number;
}

function podOf(name: string, { priority = 0, cpu = 1, labels = {}, started }: PodTraits = {}): Pod {
  const startTime = started === undefined ? {} : { startTime: new Date(started * 1000).toISOString() };
  return partial<Pod>({
    metadata: { name, namespace: "d", uid: name, labels },
    spec: { priority, containers: [{ name: "c", resources: { requests: { cpu: `${cpu}` } } }] },
    status: startTime,
  });
}

function nodeOf(cpu: number, pods: readonly Pod[], name = "n"): NodeInfo {
  const node = { metadata: { name }, spec: {}, status: { allocatable: { cpu: `${cpu}` } } };
  const info = new NodeInfo(partial<Node>(node), "1.37");
  for (const pod of pods) info.add(pod);
  return info;
}

const fits: Plugin = {
  name: "Cpu",
  filter(_state, pod, node) {
    const wanted = Number(pod.spec.containers[0]!.resources!.requests!["cpu"]) * 1000;
    const left = (node.allocatable.get("cpu") ?? 0) - (node.requested.get("cpu") ?? 0);
    return wanted <= left ? undefined : { plugin: "Cpu", reasons: ["Insufficient cpu"], resolvable: true };
  },
  mayHelp: () => true,
};
const trials = new SchedulingCycle(extensionPoints([fits]), { random: () => 0 });

const budget = (allowed: number, labels: Record<string, string>, more: object = {}): PodDisruptionBudget =>
  partial<PodDisruptionBudget>({
    metadata: { name: "b", namespace: "d" },
    spec: { selector: { matchLabels: labels } },
    status: { disruptionsAllowed: allowed, ...more },
  });

function victimsOf(
  pod: Pod,
  node: NodeInfo,
  budgets: readonly PodDisruptionBudget[] = [],
): { readonly names: readonly string[]; readonly violations: number } | readonly string[] {
  const before = [...node.pods.keys()].sort();
  const requested = node.requested.get("cpu");
  const found = selectVictims(trials, { state: new Map(), pod }, node, {
    units: singleUnits([node]),
    budgets,
    now: 0,
  });
  assert.deepEqual([...node.pods.keys()].sort(), before, "the node is as it was");
  assert.equal(node.requested.get("cpu"), requested);
  if ("reasons" in found) return found.reasons;
  return { names: found.victims.map(({ metadata }) => metadata.name), violations: found.violations };
}

test("as few and as unimportant pods as possible leave", () => {
  const node = nodeOf(4, [
    podOf("low", { priority: 1 }),
    podOf("lower", { priority: 0 }),
    podOf("old", { priority: 0, started: 10 }),
    podOf("young", { priority: 0, started: 20 }),
  ]);
  // Without a start a pod counts as starting now, at 0: it is older than those that the future started.
  const high = (cpu: number): Pod => podOf("high", { priority: 5, cpu });
  assert.deepEqual(victimsOf(high(1), node), { names: ["young"], violations: 0 });
  assert.deepEqual(victimsOf(high(2), node), { names: ["old", "young"], violations: 0 });
  assert.deepEqual(victimsOf(high(4), node), { names: ["low", "lower", "old", "young"], violations: 0 });
});

test("pods of the same or a higher priority stay; the reasons are those without the others", () => {
  const node = nodeOf(4, [podOf("same", { priority: 5, cpu: 3 }), podOf("low", { cpu: 1 })]);
  assert.deepEqual(victimsOf(podOf("high", { priority: 5, cpu: 2 }), node), ["Insufficient cpu"]);
  assert.deepEqual(victimsOf(podOf("lowest", { priority: 0 }), node), [
    "No preemption victims found for incoming pod",
  ]);
});

test("pods that a budget protects leave last", () => {
  const guarded = { app: "guarded" };
  const pods = [
    podOf("guarded-1", { labels: guarded }),
    podOf("guarded-2", { labels: guarded }),
    podOf("free", { priority: 1 }),
  ];
  const high = (cpu: number): Pod => podOf("high", { priority: 5, cpu });
  const strict = [budget(0, guarded)];
  assert.deepEqual(victimsOf(high(1), nodeOf(3, pods), strict), { names: ["free"], violations: 0 });
  assert.deepEqual(victimsOf(high(2), nodeOf(3, pods), strict), {
    names: ["free", "guarded-2"],
    violations: 1,
  });
  // One of them may go; the more important one first in the count.
  assert.deepEqual(victimsOf(high(2), nodeOf(3, pods), [budget(1, guarded)]), {
    names: ["free", "guarded-1"],
    violations: 0,
  });
  // The API server has let both go already.
  const disruptedPods = { "guarded-1": "t", "guarded-2": "t" };
  assert.deepEqual(victimsOf(high(1), nodeOf(3, pods), [budget(0, guarded, { disruptedPods })]), {
    names: ["guarded-2"],
    violations: 0,
  });
  // A budget without a selector protects nothing, and so does one of another namespace.
  const others = { ...budget(0, guarded), metadata: { name: "b", namespace: "other" } };
  assert.deepEqual(victimsOf(high(1), nodeOf(3, pods), [budget(0, {}), others as PodDisruptionBudget]), {
    names: ["guarded-2"],
    violations: 0,
  });
});

test("counts of PreFilter plugins follow the trial, and are unchanged after it", () => {
  const state = new Map<string, unknown>([["Count", { pods: 2, clone: clonedCount }]]);
  const counts: Plugin = {
    name: "Count",
    preFilter: () => ({ type: "continue" }),
    addPod: (trial) => void (trial.get("Count") as { pods: number }).pods++,
    removePod: (trial) => void (trial.get("Count") as { pods: number }).pods--,
    filter: (trial) =>
      (trial.get("Count") as { pods: number }).pods <= 1
        ? undefined
        : { plugin: "Count", reasons: ["too many"], resolvable: true },
    mayHelp: () => true,
  };
  function clonedCount(this: { pods: number }): object {
    return { ...this };
  }
  const cycle = new SchedulingCycle(extensionPoints([counts]), { random: () => 0 });
  const node = nodeOf(4, [podOf("a", { started: 1 }), podOf("b", { started: 2 })]);
  const found = selectVictims(cycle, { state, pod: podOf("high", { priority: 1 }) }, node, {
    units: singleUnits([node]),
    budgets: [],
    now: 0,
  }) as Candidate;
  assert.deepEqual(
    found.victims.map(({ metadata }) => metadata.name),
    ["b"],
  );
  assert.equal((state.get("Count") as { pods: number }).pods, 2);
});

test("of several nodes the one is taken where least is disturbed", () => {
  const candidate = (name: string, violations: number, ...pods: readonly PodTraits[]): Candidate => ({
    node: nodeOf(1, [], name),
    victims: pods.map((traits, i) => podOf(`${name}-${i}`, traits)),
    violations,
  });
  const best = (...candidates: readonly Candidate[]): string | undefined =>
    leastDisruptive(candidates, 0)?.node.name;
  assert.equal(best(), undefined);
  // Each rule decides where those before it do not.
  assert.equal(best(candidate("budget", 1, { priority: 1 }), candidate("none", 0, { priority: 9 })), "none");
  assert.equal(best(candidate("nine", 0, { priority: 9 }), candidate("eight", 0, { priority: 8 })), "eight");
  assert.equal(
    best(
      candidate("sum 10", 0, { priority: 9 }, { priority: 1 }),
      candidate("sum 9", 0, { priority: 9 }, { priority: 0 }),
    ),
    "sum 9",
  );
  // Two pods of -1 sum to less than one of it, and yet disturb more.
  assert.equal(
    best(candidate("two", 0, { priority: -1 }, { priority: -1 }), candidate("one", 0, { priority: -1 })),
    "one",
  );
  assert.equal(
    best(
      candidate("older", 0, { priority: 2, started: 5 }, { priority: 1, started: 90 }),
      candidate("younger", 0, { priority: 2, started: 6 }, { priority: 1, started: 1 }),
    ),
    "younger",
  );
  assert.equal(best(candidate("first", 0, {}), candidate("second", 0, {})), "first");
});
