import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeEvent } from "../../framework/changes.ts";
import { defaultPluginArgs, type ScoringStrategy } from "../args.ts";
import { asking, filter, nodeInfo, nodeOf, podOf, scores } from "../testing/plugins.ts";
import { nodeResourcesFit } from "./fit.ts";

const args = defaultPluginArgs.NodeResourcesFit;
const fit = nodeResourcesFit(args, "1.37");

/** Upstream: noderesources/fit.go, fitsRequest */
test("reasons in upstream's order, and whether the node is too small altogether", () => {
  const taken = asking({ cpu: "3", memory: "6Gi" });
  const cases: [Record<string, string>, string][] = [
    [{ cpu: "1", memory: "2Gi" }, ""],
    [{ cpu: "1001m" }, "Insufficient cpu"],
    [{ memory: "3Gi", cpu: "2" }, "Insufficient cpu, Insufficient memory"],
    [{ cpu: "5" }, "!Insufficient cpu"],
    [{ "ephemeral-storage": "1Gi" }, "!Insufficient ephemeral-storage"],
    [{ "example.com/x": "1", cpu: "2" }, "!Insufficient cpu, Insufficient example.com/x"],
    [{ "example.com/x": "0" }, ""],
  ];
  for (const [requests, expected] of cases)
    assert.deepEqual(filter(fit, asking(requests), [nodeInfo("n", { pods: [taken] })]), { n: expected });
});

test("a node without allocatable pods takes none", () => {
  const full = nodeInfo("full", { allocatable: { pods: "1" }, pods: [podOf()] });
  const silent = nodeInfo("silent");
  const { pods: _, ...allocatable } = silent.node.status!.allocatable!;
  silent.node = { ...silent.node, status: { ...silent.node.status, allocatable } } as typeof silent.node;
  assert.deepEqual(filter(fit, podOf(), [full, silent]), { full: "Too many pods", silent: "Too many pods" });
});

test("ignored resources and groups are not looked at, others of Kubernetes' own are", () => {
  const lenient = nodeResourcesFit(
    {
      ...args,
      ignoredResources: ["example.com/one", "hugepages-2Mi"],
      ignoredResourceGroups: ["group.io"],
    },
    "1.37",
  );
  const pod = asking({
    "example.com/one": "1",
    "group.io/x": "1",
    "example.com/two": "1",
    "hugepages-2Mi": "2Mi",
  });
  const expected = "!Insufficient example.com/two, Insufficient hugepages-2Mi";
  assert.deepEqual(filter(lenient, pod, [nodeInfo("n")]), { n: expected });
});

test("a resource with a device class fits where the node has none of it", () => {
  const served = nodeResourcesFit(args, "1.37", (name) =>
    name === "example.com/gpu" ? ({} as never) : undefined,
  );
  const plugin = nodeInfo("plugin", { allocatable: { "example.com/gpu": "1" } });
  const pod = asking({ "example.com/gpu": "2" });
  assert.deepEqual(filter(served, pod, [nodeInfo("none"), plugin]), {
    none: "",
    plugin: "!Insufficient example.com/gpu",
  });
});

/**
 * Upstream: least_allocated_test.go, most_allocated_test.go, requested_to_capacity_ratio_test.go: the
 * formulas.
 */
test("scores by strategy", () => {
  const nodes = [
    nodeInfo("empty", { allocatable: { cpu: "4000m", memory: "10000" } }),
    nodeInfo("half", {
      allocatable: { cpu: "10000m", memory: "20000" },
      pods: [asking({ cpu: "6000m", memory: "10000" })],
    }),
    nodeInfo("small", { allocatable: { cpu: "1", memory: "1000" } }),
  ];
  const pod = asking({ cpu: "3000m", memory: "5000" });
  const resources = [
    { name: "cpu", weight: 1 },
    { name: "memory", weight: 1 },
  ];
  const cases: [ScoringStrategy, Record<string, number>][] = [
    // cpu (4000-3000)/4000 = 25, memory 50; cpu (10000-9000)/10000 = 10, memory 25; over capacity.
    [
      { type: "LeastAllocated", resources },
      { empty: 37, half: 17, small: 0 },
    ],
    [
      { type: "MostAllocated", resources },
      { empty: 62, half: 82, small: 100 },
    ],
    [
      { type: "LeastAllocated", resources: [resources[0]!, { name: "memory", weight: 3 }] },
      { empty: 43, half: 21, small: 0 },
    ],
    [
      {
        type: "RequestedToCapacityRatio",
        resources,
        requestedToCapacityRatio: {
          shape: [
            { utilization: 0, score: 0 },
            { utilization: 100, score: 10 },
          ],
        },
      },
      // (75 + 50) / 2 is rounded; (90 + 75) / 2 too.
      { empty: 63, half: 83, small: 100 },
    ],
    [
      {
        type: "RequestedToCapacityRatio",
        resources,
        requestedToCapacityRatio: {
          shape: [
            { utilization: 0, score: 10 },
            { utilization: 80, score: 2 },
          ],
        },
      },
      // cpu 100 + (20-100)*75/80 = 25, memory 50; cpu 20, memory 25; full.
      { empty: 38, half: 23, small: 20 },
    ],
  ];
  for (const [scoringStrategy, expected] of cases)
    assert.deepEqual(scores(nodeResourcesFit({ ...args, scoringStrategy }, "1.37"), pod, nodes), expected);
});

test("an extended resource counts for pods that ask for it, on nodes that have it", () => {
  const scoringStrategy: ScoringStrategy = {
    type: "MostAllocated",
    resources: [
      { name: "cpu", weight: 1 },
      { name: "example.com/gpu", weight: 9 },
    ],
  };
  const plugin = nodeResourcesFit({ ...args, scoringStrategy }, "1.37");
  const nodes = [
    nodeInfo("gpus", {
      allocatable: { cpu: "10", "example.com/gpu": "4" },
      pods: [asking({ cpu: "1", "example.com/gpu": "1" })],
    }),
    nodeInfo("plain", { allocatable: { cpu: "10" } }),
  ];
  assert.deepEqual(scores(plugin, asking({ cpu: "4" }), nodes), { gpus: 50, plain: 40 });
  // (50 + 9 * 75) / 10, the other by cpu alone.
  assert.deepEqual(scores(plugin, asking({ cpu: "4", "example.com/gpu": "2" }), nodes), {
    gpus: 72,
    plain: 40,
  });
});

/**
 * Upstream: calculateResourceAllocatableRequest: devices count where no device plugin offers the resource
 * (KEP-5004).
 */
test("devices that serve an extended resource count in scores", () => {
  const scoringStrategy: ScoringStrategy = {
    type: "MostAllocated",
    resources: [{ name: "example.com/gpu", weight: 1 }],
  };
  const totals: Record<string, { devices: number; allocated: number }> = {
    busy: { devices: 4, allocated: 2 },
    idle: { devices: 4, allocated: 0 },
    plugin: { devices: 4, allocated: 4 },
  };
  const plugin = nodeResourcesFit(
    { ...args, scoringStrategy },
    "1.37",
    undefined,
    (node) => totals[node.name],
  );
  const nodes = [
    nodeInfo("busy"),
    nodeInfo("idle"),
    nodeInfo("plugin", { allocatable: { "example.com/gpu": "8" } }),
    nodeInfo("none"),
  ];
  const pod = asking({ "example.com/gpu": "1" });
  assert.deepEqual(scores(plugin, pod, nodes), { busy: 75, idle: 25, plugin: 12, none: 0 });
  assert.deepEqual(scores(plugin, podOf(), nodes), { busy: 0, idle: 0, plugin: 0, none: 0 });
});

test("containers that ask for nothing count 100m and 200Mi in scores", () => {
  const nodes = [nodeInfo("a", { allocatable: { cpu: "1", memory: "2000Mi" }, pods: [podOf()] })];
  // 200m of 1000m, 400Mi of 2000Mi.
  assert.deepEqual(scores(fit, podOf(), nodes), { a: 80 });
});

/**
 * Upstream: fit.go, isSchedulableAfterNodeChange, isSchedulableAfterAssignedPodScaleDown,
 * isSchedulableAfterDeviceClassEvent
 */
test("events help that free or bring what the pod asks for", () => {
  const pod = asking({ cpu: "2", "example.com/gpu": "1" });
  const gpus = { cpu: "4", "example.com/gpu": "1" };
  const node = (allocatable: Record<string, string>, old?: Record<string, string>) =>
    fit.mayHelp(
      pod,
      nodeEvent(
        old === undefined ? "add" : "update",
        nodeOf("n", { allocatable }),
        old && nodeOf("n", { allocatable: old }),
      ),
    );
  assert.equal(node(gpus), true);
  assert.equal(node({ cpu: "4" }), false);
  assert.equal(node({ ...gpus, cpu: "1" }), false);
  assert.equal(node(gpus, { cpu: "4" }), true);
  assert.equal(node(gpus, gpus), false);
  assert.equal(node({ ...gpus, memory: "16Gi" }, gpus), false);
  assert.equal(node({ ...gpus, pods: "111" }, gpus), true);
  const assigned = (change: "add" | "update" | "delete", now: typeof pod, old?: typeof pod) =>
    fit.mayHelp(pod, { kind: "assigned-pod", change, pod: now, ...(old && { old }) });
  assert.equal(assigned("delete", podOf()), true);
  assert.equal(assigned("add", podOf()), false);
  assert.equal(assigned("update", asking({ cpu: "1" }), asking({ cpu: "2" })), true);
  assert.equal(assigned("update", asking({ cpu: "2" }), asking({ cpu: "1" })), false);
  assert.equal(assigned("update", asking({ memory: "1" }), asking({ memory: "2" })), false);
  const own = (now: typeof pod, old: typeof pod) =>
    fit.mayHelp(pod, { kind: "own-pod", uid: "u", pod: now, old });
  assert.equal(own(asking({ cpu: "1" }), pod), true);
  assert.equal(own(pod, pod), false);
  const served = nodeResourcesFit(args, "1.37", () => undefined);
  const created = (deviceClass: object) =>
    served.mayHelp(pod, { kind: "class", deviceClass: deviceClass as never });
  assert.equal(created({ metadata: { name: "c" }, spec: { extendedResourceName: "example.com/gpu" } }), true);
  assert.equal(created({ metadata: { name: "c" }, spec: {} }), false);
});
