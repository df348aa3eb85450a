import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { nodeEvent } from "../../framework/changes.ts";
import type { CycleState } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { defaultPluginArgs } from "../args.ts";
import { filter, nodeInfo, nodeOf, podOf, preFilter, scores } from "../testing/plugins.ts";
import type { WorkloadLookup } from "./constraints.ts";
import { podTopologySpread } from "./plugin.ts";

const zoneKey = "topology.kubernetes.io/zone";
const labelSelector = { matchLabels: { app: "a" } };
const spread = podTopologySpread(defaultPluginArgs.PodTopologySpread);
const skewed = "node(s) didn't match pod topology spread constraints";

function constrained(...constraints: object[]): Pod {
  const topologySpreadConstraints = constraints.map((constraint) => ({
    maxSkew: 1,
    topologyKey: zoneKey,
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector,
    ...constraint,
  }));
  return podOf({ labels: { app: "a" }, spec: { topologySpreadConstraints } });
}

const soft = { whenUnsatisfiable: "ScheduleAnyway" };
const host = { topologyKey: "kubernetes.io/hostname" };

function pods(count: number, parts: object = {}): Pod[] {
  return Array.from({ length: count }, () => podOf({ labels: { app: "a" }, ...parts }));
}

/** `a1: 2` is a node of zone a with two pods that match. */
function cluster(nodes: Record<string, number | Pod[]>): NodeInfo[] {
  return Object.entries(nodes).map(([name, on]) =>
    nodeInfo(name, { labels: { [zoneKey]: name[0]! }, pods: typeof on === "number" ? pods(on) : on }),
  );
}

/** Upstream: podtopologyspread/filtering.go: matching + self - minimum <= maxSkew */
test("hard constraints: the skew of the node's domain", () => {
  const nodes = cluster({ a1: 1, a2: 1, b1: 1, c1: 0 });
  assert.deepEqual(filter(spread, constrained({}), nodes), { a1: skewed, a2: skewed, b1: skewed, c1: "" });
  assert.deepEqual(filter(spread, constrained({ maxSkew: 2 }), nodes), {
    a1: skewed,
    a2: skewed,
    b1: "",
    c1: "",
  });
  assert.deepEqual(filter(spread, constrained(host), nodes), { a1: skewed, a2: skewed, b1: skewed, c1: "" });
  assert.deepEqual(filter(spread, constrained({ maxSkew: 2 }, host), nodes), {
    a1: skewed,
    a2: skewed,
    b1: skewed,
    c1: "",
  });
  // The pod is not one of those that are counted.
  const other = constrained({ labelSelector: { matchLabels: { app: "b" } } });
  assert.deepEqual(filter(spread, other, nodes), { a1: "", a2: "", b1: "", c1: "" });
  assert.equal(preFilter(spread, podOf(), nodes), "skip");
});

test("a node without the key is out, and does not count", () => {
  const nodes = [...cluster({ a1: 1, b1: 1 }), nodeInfo("bare")];
  const missing = `!${skewed} (missing required label)`;
  assert.deepEqual(filter(spread, constrained({}), nodes), { a1: "", b1: "", bare: missing });
});

test("pods that end, of other namespaces or other labels do not count", () => {
  const nodes = cluster({
    a1: [
      ...pods(2, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      ...pods(2, { namespace: "other" }),
      ...pods(2, { labels: { app: "b" } }),
    ],
    b1: 1,
  });
  assert.deepEqual(filter(spread, constrained({}), nodes), { a1: "", b1: skewed });
});

test("an empty selector and an absent one match no pods", () => {
  const nodes = cluster({ a1: 3, b1: 0 });
  assert.deepEqual(filter(spread, constrained({ labelSelector: {} }), nodes), { a1: "", b1: "" });
  assert.deepEqual(filter(spread, constrained({ labelSelector: undefined }), nodes), { a1: "", b1: "" });
});

test("minDomains: with fewer domains the minimum is zero (KEP-3022)", () => {
  const nodes = cluster({ a1: 1, b1: 1 });
  assert.deepEqual(filter(spread, constrained({ minDomains: 2 }), nodes), { a1: "", b1: "" });
  assert.deepEqual(filter(spread, constrained({ minDomains: 3 }), nodes), { a1: skewed, b1: skewed });
});

test("matchLabelKeys: pods with the same values as the pod's (KEP-3243)", () => {
  const revision = (value: string) => ({ labels: { app: "a", rev: value } });
  const nodes = cluster({ a1: pods(2, revision("1")), b1: pods(1, revision("2")) });
  const pod = constrained({ matchLabelKeys: ["rev", "none"] });
  const labelled = { ...pod, metadata: { ...pod.metadata, labels: { app: "a", rev: "2" } } } as Pod;
  assert.deepEqual(filter(spread, labelled, nodes), { a1: "", b1: skewed });
  assert.deepEqual(filter(spread, pod, nodes), { a1: skewed, b1: "" });
});

test("nodeAffinityPolicy and nodeTaintsPolicy: whether nodes that the pod cannot use count (KEP-3094)", () => {
  const nodes = cluster({ a1: 1, b1: 1, c1: 0 });
  const [, , c1] = nodes;
  c1!.node = nodeOf("c1", {
    labels: { [zoneKey]: "c", pool: "x" },
    spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
  });
  const elsewhere = {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "pool", operator: "DoesNotExist" }] }],
        },
      },
    },
  };
  const within = (more: object, spec: object = {}) => {
    const pod = constrained(more);
    return { ...pod, spec: { ...pod.spec, ...spec } } as Pod;
  };
  const cases: [Pod, string][] = [
    [within({}), skewed],
    [within({}, elsewhere), ""],
    [within({ nodeAffinityPolicy: "Ignore" }, elsewhere), skewed],
    [within({ nodeTaintsPolicy: "Honor" }), ""],
    [within({ nodeTaintsPolicy: "Honor" }, { tolerations: [{ operator: "Exists" }] }), skewed],
  ];
  for (const [pod, expected] of cases) assert.equal(filter(spread, pod, nodes)["a1"], expected);
});

test("preemption tries without a pod, and with another", () => {
  const nodes = cluster({ a1: 1, b1: 0 });
  const pod = constrained({});
  const state: CycleState = new Map();
  assert.deepEqual(filter(spread, pod, nodes, state), { a1: skewed, b1: "" });
  const copy = new Map(
    [...state].map(([key, value]) => [key, (value as { clone?(): unknown }).clone?.() ?? value]),
  );
  spread.removePod!(copy, pod, pods(1)[0]!, nodes[0]!);
  assert.equal(spread.filter!(copy, pod, nodes[0]!), undefined);
  spread.addPod!(copy, pod, pods(1)[0]!, nodes[1]!);
  assert.equal(spread.filter!(copy, pod, nodes[1]!)?.reasons[0], skewed);
  // The attempt itself is as it was.
  assert.equal(spread.filter!(state, pod, nodes[1]!), undefined);
});

/** Upstream: podtopologyspread/scoring.go; weights are log(domains + 2). */
test("soft constraints: the fewer pods in the node's domains the better", () => {
  const nodes = cluster({ a1: 2, a2: 1, b1: 1, c1: 0 });
  // Zones 3, 1, 0 by log(5): 5, 2, 0.
  assert.deepEqual(scores(spread, constrained(soft), nodes), { a1: 0, a2: 0, b1: 60, c1: 100 });
  // Hosts 2, 1, 1, 0 by log(6): 4, 2, 2, 0.
  assert.deepEqual(scores(spread, constrained({ ...soft, ...host }), nodes), {
    a1: 0,
    a2: 50,
    b1: 50,
    c1: 100,
  });
  // Only c1 is left out: zones by log(4) 4, 4, 1.
  const feasible = nodes.filter(({ name }) => name !== "c1");
  assert.deepEqual(scores(spread, constrained(soft), nodes, feasible), { a1: 25, a2: 25, b1: 100 });
  // maxSkew 5 adds 4 to each: 9, 9, 6, 4.
  assert.deepEqual(scores(spread, constrained({ ...soft, maxSkew: 5 }), nodes), {
    a1: 44,
    a2: 44,
    b1: 77,
    c1: 100,
  });
  assert.equal(scores(spread, constrained({}), nodes), undefined);
});

test("soft constraints: a node without the key scores nothing", () => {
  const nodes = [...cluster({ a1: 1, b1: 0 }), nodeInfo("bare")];
  assert.deepEqual(scores(spread, constrained(soft), nodes), { a1: 0, b1: 100, bare: 0 });
});

function workloads(parts: Partial<WorkloadLookup> = {}): WorkloadLookup {
  const none = (): undefined => undefined;
  return {
    services: () => [],
    replicationController: none,
    replicaSet: none,
    statefulSet: none,
    ...parts,
  };
}

/** Upstream: helper/spread.go, DefaultSelector */
test("pods without constraints are spread over hosts and zones with those of their service or controller", () => {
  const nodes = [...cluster({ a1: 4, b1: 0 }), nodeInfo("bare")];
  const lonely = podOf({ labels: { app: "a" } });
  const owned = podOf({
    labels: { app: "a" },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "u", controller: true }],
  });
  const replicaSet = (_namespace: string, name: string) =>
    name === "rs" ? ({ spec: { selector: labelSelector } } as never) : undefined;
  const services = (namespace: string) => [
    { metadata: { namespace }, spec: { selector: { app: "a" } } } as never,
    { metadata: { namespace }, spec: { selector: { app: "b" } } } as never,
    { metadata: { namespace }, spec: {} } as never,
  ];
  const system = defaultPluginArgs.PodTopologySpread;
  assert.equal(scores(podTopologySpread(system, workloads()), lonely, nodes), undefined);
  // Hosts by log(5), zones (a, b and none) by log(5); maxSkew adds 2 and 4: 19, 6, and 2 of the node without
  // a zone.
  const expected = { a1: 10, b1: 78, bare: 100 };
  assert.deepEqual(scores(podTopologySpread(system, workloads({ replicaSet })), owned, nodes), expected);
  assert.deepEqual(scores(podTopologySpread(system, workloads({ services })), lonely, nodes), expected);
  const defaultConstraints = [{ maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable: "DoNotSchedule" }];
  const list = podTopologySpread({ defaultingType: "List", defaultConstraints }, workloads({ services }));
  assert.equal(filter(list, lonely, nodes)["a1"], skewed);
  const none = podTopologySpread({ defaultingType: "List", defaultConstraints: [] }, workloads({ services }));
  assert.equal(preFilter(none, lonely, nodes), "skip");
});

test("events that can change the skew wake the pod", () => {
  const pod = constrained({});
  const other = podOf({ labels: { app: "b" } });
  const [match] = pods(1);
  const assigned = (change: "add" | "update" | "delete", one: Pod, old?: Pod) =>
    spread.mayHelp(pod, { kind: "assigned-pod", change, pod: one, ...(old && { old }) });
  assert.equal(assigned("add", match!), true);
  assert.equal(assigned("delete", match!), true);
  assert.equal(assigned("delete", other), false);
  assert.equal(assigned("delete", podOf({ namespace: "x", labels: { app: "a" } })), false);
  assert.equal(assigned("update", other, match), true);
  assert.equal(assigned("update", match!, match), false);
  const [zoned, bare] = [nodeOf("n", { labels: { [zoneKey]: "a" } }), nodeOf("n")];
  const node = (one: typeof zoned, old?: typeof zoned) => spread.mayHelp(pod, nodeEvent("update", one, old));
  assert.equal(node(zoned), true);
  assert.equal(node(bare), false);
  assert.equal(node(zoned, bare), true);
  assert.equal(node(zoned, zoned), false);
  assert.equal(node(nodeOf("n", { labels: { [zoneKey]: "b" } }), zoned), true);
});
