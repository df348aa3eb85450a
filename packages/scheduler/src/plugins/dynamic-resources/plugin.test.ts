import assert from "node:assert/strict";
import { test } from "node:test";
import { allocatorFeatures, createAllocator } from "@dray/allocator";
import { type Features, featuresOf } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { partial } from "@dray/testing/partial";
import { nodeEvent } from "../../framework/changes.ts";
import type { CycleState } from "../../framework/framework.ts";
import { NodeInfo } from "../../framework/node-info.ts";
import { MemoryClaims } from "./memory-claims.ts";
import { DynamicResources } from "./plugin.ts";

const driver = "gpu.example.com";

/** The plugin beside a store of claims, and an allocator with class `gpu`. */
function made(features: Features = featuresOf(), now: () => number = () => 0) {
  let ids = 0;
  const newId = (): string => `00000000-0000-4000-8000-${String(ids++).padStart(12, "0")}`;
  const allocator = createAllocator({ newId, features: allocatorFeatures(features) });
  const claims = new MemoryClaims(allocator);
  const classes = new Map<string, DeviceClass>();
  const plugin = new DynamicResources({
    features,
    allocator,
    claims,
    deviceClass: (name) => classes.get(name),
    newId,
    now,
    random: () => 0,
  });
  const addClass = (name: string, expression = "true"): void => {
    const spec = { selectors: [{ cel: { expression } }] };
    const object = partial<DeviceClass>({ kind: "DeviceClass", metadata: { name }, spec });
    classes.set(name, object);
    allocator.update({ kind: "class", object, deleted: false });
  };
  addClass("gpu");
  return {
    plugin,
    addClass,
    slice(nodeName: string, devices: readonly object[], spec: object = {}): void {
      const pool = { name: nodeName, generation: 1, resourceSliceCount: 1 };
      const object = { metadata: { name: nodeName }, spec: { driver, nodeName, pool, devices, ...spec } };
      allocator.update({ kind: "slice", object: partial<ResourceSlice>(object), deleted: false });
    },
    claim(name: string, request: object, status?: object, devices?: object): void {
      claims.set(
        partial<ResourceClaim>({
          metadata: { namespace: "d", name, uid: name, resourceVersion: "1" },
          spec: { devices: devices ?? { requests: [{ name: "r", ...request }] } },
          ...(status && { status }),
        }),
      );
    },
  };
}

const nodeOf = (name: string, status: object = {}): NodeInfo =>
  new NodeInfo(partial<Node>({ metadata: { name }, spec: {}, status }), "1.37");

const podOf = (...names: string[]): Pod =>
  partial<Pod>({
    metadata: { namespace: "d", name: "p", uid: "p" },
    spec: { containers: [], resourceClaims: names.map((name) => ({ name, resourceClaimName: name })) },
  });

const exact = { allocationMode: "ExactCount", count: 1 };
const one = (name: string): object => ({ name, exactly: { deviceClassName: "gpu", ...exact } });
const alternatives = (...classes: string[]): object => ({
  firstAvailable: classes.map((deviceClassName, i) => ({
    name: `${deviceClassName}${i}`,
    deviceClassName,
    ...exact,
  })),
});

test("the score counts claims that are allocated already", () => {
  const { plugin, addClass, slice, claim } = made();
  addClass("none", "false");
  slice("n1", [{ name: "gpu-0" }]);
  const results = [{ request: "r/none0", driver, pool: "x", device: "y" }];
  claim("allocated", alternatives("none", "gpu"), { allocation: { devices: { results } } });
  claim("open", alternatives("none", "none", "gpu"));
  const [state, node]: [CycleState, NodeInfo] = [new Map(), nodeOf("n1")];
  const pod = podOf("allocated", "open");
  assert.equal(plugin.preFilter(state, pod, []).type, "continue");
  assert.equal(plugin.filter(state, pod, node), undefined);
  // Each counts 8 less the place of what was chosen.
  assert.equal(plugin.score(state, pod, node), 8 + 6);
});

test("a claim whose devices skip calls of the kubelet needs a node that declares the feature", () => {
  const { plugin, claim } = made();
  const results = [{ request: "r", driver, pool: "x", device: "y", skipNodeOperations: ["Prepare"] }];
  claim("c", { exactly: { deviceClassName: "gpu" } }, { allocation: { devices: { results } } });
  const pod = podOf("c");
  const ask = (node: NodeInfo): unknown => {
    const state: CycleState = new Map();
    plugin.preFilter(state, pod, []);
    return plugin.filter(state, pod, node)?.reasons;
  };
  assert.deepEqual(ask(nodeOf("old")), ["resourceclaim not available on the node"]);
  assert.equal(ask(nodeOf("new", { declaredFeatures: ["DRAOptionalNodeOperations"] })), undefined);
});

test("a search that takes too long ends the attempt; before 1.36 it rejects the node", () => {
  const searched = (features: Features): unknown => {
    let time = 0;
    const { plugin, slice, claim } = made(features, () => (time += 6_000));
    slice(
      "n1",
      ["gpu-0", "gpu-1", "gpu-2"].map((name, i) => ({ name, attributes: { n: { int: i } } })),
    );
    const requests = [one("a"), one("b")];
    claim("c", {}, undefined, { requests, constraints: [{ matchAttribute: `${driver}/n` }] });
    const pod = podOf("c");
    const state: CycleState = new Map();
    plugin.preFilter(state, pod, []);
    return plugin.filter(state, pod, nodeOf("n1"))?.reasons;
  };
  assert.throws(() => searched(featuresOf("1.36")), /^Error: node n1: timed out trying to allocate devices$/);
  assert.deepEqual(searched(featuresOf("1.35")), ["timed out trying to allocate devices"]);
  const off = new Map([["DRASchedulerFilterTimeout", false]]);
  assert.deepEqual(searched(featuresOf("1.37", off)), ["cannot allocate all claims"]);
});

test("a request of a disabled or unknown kind keeps the pod waiting, with the reason", () => {
  const rejected = (request: object, features?: Features): unknown => {
    const { plugin, claim } = made(features);
    claim("c", request);
    const result = plugin.preFilter(new Map(), podOf("c"), []);
    return result.type === "reject" && result.rejection.reasons;
  };
  assert.deepEqual(rejected({ exactly: { deviceClassName: "no" } }), [
    "request r: device class no does not exist",
  ]);
  assert.deepEqual(rejected(alternatives("gpu", "no")), ["request r/no1: device class no does not exist"]);
  assert.deepEqual(rejected({}), ["resource claim d/c, request r: unknown request type"]);
  const off = featuresOf("1.35", new Map([["DRAPrioritizedList", false]]));
  assert.deepEqual(rejected(alternatives("gpu"), off), [
    "resource claim d/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
  ]);
  assert.throws(
    () => rejected({ exactly: { deviceClassName: "" } }),
    /^Error: request r: unsupported request type$/,
  );
});

test("of events about claims, those of others help only if they free devices", () => {
  const { plugin, claim } = made();
  claim("mine", { exactly: { deviceClassName: "gpu" } });
  const pod = podOf("mine");
  const helps = (name: string, freed: boolean, one: Pod = pod): boolean => {
    const object = partial<ResourceClaim>({ metadata: { namespace: "d", name } });
    return plugin.mayHelp(one, { kind: "claim", namespace: "d", name, freed, claim: object });
  };
  assert.equal(helps("mine", false), true);
  assert.equal(helps("other", false), false);
  assert.equal(helps("other", true), true);
  // Free devices do not help: a claim of this pod is missing.
  assert.equal(helps("other", true, podOf("mine", "missing")), false);
});

test("a pod's own change helps if it names its last claim", () => {
  const { plugin, claim } = made();
  claim("mine", { exactly: { deviceClassName: "gpu" } });
  const changed = (pod: Pod, old?: Pod): boolean =>
    plugin.mayHelp(pod, { kind: "own-pod", uid: "p", pod, ...(old && { old }) });
  const pod = podOf("mine");
  const status = { resourceClaimStatuses: [{ name: "x", resourceClaimName: "y" }] };
  assert.equal(changed(pod, partial<Pod>({ ...pod, status })), true);
  assert.equal(changed({ ...pod }, pod), false);
  assert.equal(changed(podOf("missing")), false);
});

test("a node helps when it comes, or with other labels or more to give", () => {
  const { plugin } = made();
  const node = (labels: object, more: object = {}): Node =>
    partial<Node>({ metadata: { name: "n", labels }, spec: more, status: {} });
  const helps = (change: "add" | "update" | "delete", now: Node, old?: Node): boolean =>
    plugin.mayHelp(podOf(), nodeEvent(change, now, old));
  assert.equal(helps("add", node({})), true);
  assert.equal(helps("delete", node({})), false);
  assert.equal(helps("update", node({ a: "b" }), node({})), true);
  assert.equal(helps("update", node({}, { unschedulable: false }), node({}, { unschedulable: true })), false);
});

test("changes of a node are found once for all waiting pods", () => {
  const { plugin } = made();
  let reads = 0;
  const status = (cpu: string) => ({
    metadata: { name: "n" },
    spec: {},
    get status() {
      reads++;
      return { allocatable: { cpu } };
    },
  });
  const event = nodeEvent("update", partial<Node>(status("2")), partial<Node>(status("1")));
  const once = reads;
  for (let index = 0; index < 100; index++) assert.equal(plugin.mayHelp(podOf(`p${index}`), event), true);
  assert.equal(reads, once);
});

test("a claim for node allocatable resources is for one pod, and counts on its node", () => {
  const gate = new Map([["DRANodeAllocatableResources", true]]);
  const { plugin, slice, claim } = made(featuresOf("1.37", gate));
  const cores = { cpu: { mapping: { deviceMultiplier: "2" } } };
  slice(
    "n1",
    ["cores", "more"].map((name) => ({ name, nodeAllocatableResources: cores })),
  );
  const results = [{ request: "r", driver, pool: "n1", device: "cores" }];
  const exactly = { deviceClassName: "gpu", ...exact };
  claim("open", { exactly });
  const reservedFor = [{ resource: "pods", name: "other", uid: "other" }];
  claim("used", { exactly }, { allocation: { devices: { results } }, reservedFor });
  const ask = (pod: Pod, node: NodeInfo): [CycleState, unknown] => {
    const state: CycleState = new Map();
    plugin.preFilter(state, pod, []);
    return [state, plugin.filter(state, pod, node)];
  };
  const big = nodeOf("n1", { allocatable: { cpu: "2" } });
  const refused = ask(podOf("used"), big)[1] as { reasons: string[] };
  assert.deepEqual(refused.reasons, [
    "node allocatable resource claim used has a mapped device and cannot be shared across pods",
  ]);
  const pod = podOf("open");
  assert.deepEqual(ask(pod, nodeOf("n1", { allocatable: { cpu: "1" } }))[1], {
    plugin: "DynamicResources",
    reasons: ["Insufficient cpu"],
    resolvable: false,
  });
  const [state, rejection] = ask(pod, big);
  assert.equal(rejection, undefined);
  big.add(plugin.assume(state, pod, big));
  assert.equal(big.requested.get("cpu"), 2000);
});

test("PreFilter names the node that alone reaches the devices of claims, where nothing else is wanted", () => {
  const { plugin, claim } = made();
  const on = (...values: string[]): object => ({
    allocation: {
      devices: { results: [{ request: "r", driver, pool: "x", device: values.join() }] },
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values }] }],
      },
    },
  });
  const exactly = { deviceClassName: "gpu", ...exact };
  claim("a", { exactly }, on("n1"));
  claim("b", { exactly }, on("n1"));
  claim("other", { exactly }, on("n2"));
  claim("both", { exactly }, on("n1", "n2"));
  claim("open", { exactly });
  const first = (...names: string[]): unknown => {
    const result = plugin.preFilter(new Map(), podOf(...names), []);
    return result.type === "continue" && result.first && [...result.first];
  };
  assert.deepEqual(first("a", "b", "both"), ["n1"]);
  assert.deepEqual(first("a", "other"), []);
  assert.equal(first("both"), undefined);
  // The allocator may find an error on other nodes, which ends the attempt.
  assert.equal(first("a", "open"), undefined);
});
