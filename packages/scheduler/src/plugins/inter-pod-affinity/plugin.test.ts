import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { nodeEvent } from "../../framework/changes.ts";
import { type CycleState, cloneState } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { defaultPluginArgs } from "../args.ts";
import { filter, nodeInfo, nodeOf, podOf, preFilter, scores } from "../testing/plugins.ts";
import { interPodAffinity } from "./plugin.ts";

const namespaces: Readonly<Record<string, Record<string, string>>> = {
  d: {},
  blue: { team: "blue" },
  red: { team: "red" },
};
const args = defaultPluginArgs.InterPodAffinity;
const plugin = interPodAffinity(args, (name) => namespaces[name]);

const matches = (app: string, topologyKey = "zone", more: object = {}) => ({
  labelSelector: { matchLabels: { app } },
  topologyKey,
  ...more,
});
const required = (...terms: object[]) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms });
const preferred = (...terms: [number, object][]) => ({
  preferredDuringSchedulingIgnoredDuringExecution: terms.map(([weight, podAffinityTerm]) => ({
    weight,
    podAffinityTerm,
  })),
});
const near = (...terms: object[]) => ({ podAffinity: required(...terms) });
const far = (...terms: object[]) => ({ podAntiAffinity: required(...terms) });

function pod(app: string, affinity?: object, namespace = "d"): Pod {
  return podOf({ labels: { app }, namespace, ...(affinity && { spec: { affinity } }) });
}

function cluster(nodes: Record<string, Pod[]>): NodeInfo[] {
  return Object.entries(nodes).map(([name, pods]) => nodeInfo(name, { labels: { zone: name[0]! }, pods }));
}

const notNear = "!node(s) didn't match pod affinity rules";
const notFar = "node(s) didn't match pod anti-affinity rules";
const unwanted = "node(s) didn't satisfy existing pods anti-affinity rules";

/** Upstream: interpodaffinity/filtering.go */
test("required terms of the pod, and of pods against it", () => {
  const nodes = cluster({
    a1: [pod("web")],
    a2: [],
    b1: [pod("db", far(matches("x", "kubernetes.io/hostname")))],
  });
  const bare = nodeInfo("bare");
  const all = [...nodes, bare];
  const cases: [Pod, Record<string, string>][] = [
    [pod("y", near(matches("web"))), { a1: "", a2: "", b1: notNear, bare: notNear }],
    [
      pod("y", near(matches("web", "kubernetes.io/hostname"))),
      { a1: "", a2: notNear, b1: notNear, bare: notNear },
    ],
    [pod("y", far(matches("web"))), { a1: notFar, a2: notFar, b1: "", bare: "" }],
    [pod("x"), { a1: "", a2: "", b1: unwanted, bare: "" }],
    // One pod has to match all terms.
    [pod("y", near(matches("web"), matches("db"))), { a1: notNear, a2: notNear, b1: notNear, bare: notNear }],
    // The first of its kind goes anywhere that has the topology.
    [pod("new", near(matches("new"))), { a1: "", a2: "", b1: "", bare: notNear }],
    [pod("new", near(matches("other"))), { a1: notNear, a2: notNear, b1: notNear, bare: notNear }],
    [pod("web", near(matches("web"))), { a1: "", a2: "", b1: notNear, bare: notNear }],
  ];
  for (const [one, expected] of cases) assert.deepEqual(filter(plugin, one, all), expected);
  assert.equal(preFilter(plugin, pod("y"), cluster({ a1: [pod("web")] })), "skip");
});

test("namespaces: the pod's own, those listed, and those selected", () => {
  const nodes = cluster({
    a1: [pod("web", undefined, "blue")],
    b1: [pod("web", undefined, "red")],
    c1: [pod("web")],
  });
  const cases: [object, string[]][] = [
    [{}, ["c1"]],
    [{ namespaces: ["blue"] }, ["a1"]],
    [{ namespaceSelector: { matchLabels: { team: "red" } } }, ["b1"]],
    [{ namespaces: ["d"], namespaceSelector: { matchLabels: { team: "red" } } }, ["b1", "c1"]],
    [{ namespaceSelector: {} }, ["a1", "b1", "c1"]],
    [{ namespaceSelector: { matchLabels: { team: "none" } } }, []],
  ];
  for (const [more, expected] of cases) {
    const found = filter(plugin, pod("y", near(matches("web", "zone", more))), nodes);
    assert.deepEqual(
      Object.keys(found).filter((name) => found[name] === ""),
      expected,
      JSON.stringify(more),
    );
  }
  // Of a pod on a node, they are about the namespace of the pod that comes.
  const guard = pod("g", far(matches("y", "zone", { namespaceSelector: { matchLabels: { team: "blue" } } })));
  const guarded = cluster({ a1: [guard] });
  assert.deepEqual(filter(plugin, pod("y", undefined, "blue"), guarded), { a1: unwanted });
  assert.deepEqual(filter(plugin, pod("y", undefined, "red"), guarded), { a1: "" });
});

test("preemption tries without a pod, and with another", () => {
  const [web, guard] = [pod("web"), pod("g", far(matches("y")))];
  const nodes = cluster({ a1: [web, guard], b1: [] });
  const wanted = pod("y", { ...far(matches("web")), ...near(matches("g")) });
  const state: CycleState = new Map();
  assert.deepEqual(filter(plugin, wanted, nodes, state), { a1: notFar, b1: notNear });
  const trial = cloneState(state);
  plugin.removePod!(trial, wanted, web, nodes[0]!);
  assert.equal(plugin.filter!(trial, wanted, nodes[0]!)?.reasons[0], unwanted);
  plugin.addPod!(trial, wanted, pod("g"), nodes[0]!);
  plugin.removePod!(trial, wanted, guard, nodes[0]!);
  assert.equal(plugin.filter!(trial, wanted, nodes[0]!), undefined);
  assert.equal(plugin.filter!(state, wanted, nodes[0]!)?.reasons[0], notFar);
});

/** Upstream: interpodaffinity/scoring.go */
test("preferences of the pod and of pods on nodes, in both directions", () => {
  const nodes = cluster({
    a1: [pod("web"), pod("web")],
    b1: [pod("db", { podAffinity: preferred([30, matches("y")]) })],
    c1: [pod("q", { podAntiAffinity: preferred([20, matches("y")]) })],
    d1: [pod("r", near(matches("y")))],
  });
  // a: 2 * 10, b: 30, c: -20, d: 1 (hardPodAffinityWeight): of the range 50.
  const prefers = pod("y", { podAffinity: preferred([10, matches("web")]) });
  assert.deepEqual(scores(plugin, prefers, nodes), { a1: 80, b1: 100, c1: 0, d1: 42 });
  // b: 30, c: -20, d: 1, a: 0.
  assert.deepEqual(scores(plugin, pod("y"), nodes), { a1: 40, b1: 100, c1: 0, d1: 42 });
  const avoids = pod("z", { podAntiAffinity: preferred([10, matches("web")], [50, matches("db")]) });
  assert.deepEqual(scores(plugin, avoids, nodes), { a1: 60, b1: 0, c1: 100, d1: 100 });
  // Nobody says anything about it.
  assert.equal(scores(plugin, pod("z"), nodes), undefined);
});

test("arguments: the weight of required terms, and preferences of others", () => {
  const nodes = cluster({
    a1: [pod("r", near(matches("y")))],
    b1: [pod("db", { podAffinity: preferred([30, matches("y")]) })],
  });
  const heavy = interPodAffinity({ ...args, hardPodAffinityWeight: 60 }, () => ({}));
  assert.deepEqual(scores(heavy, pod("y"), nodes), { a1: 100, b1: 0 });
  const none = interPodAffinity({ ...args, hardPodAffinityWeight: 0 }, () => ({}));
  assert.deepEqual(scores(none, pod("y"), nodes), { a1: 0, b1: 100 });
  const deaf = interPodAffinity({ ...args, ignorePreferredTermsOfExistingPods: true }, () => ({}));
  assert.equal(scores(deaf, pod("y"), nodes), undefined);
  // With preferences of its own, those of others count again.
  const prefers = pod("y", { podAffinity: preferred([1, matches("none")]) });
  assert.deepEqual(scores(deaf, prefers, nodes), { a1: 0, b1: 100 });
});

test("events wake the pod where they bring what it waits for", () => {
  const waiting = pod("y", { ...near(matches("web")), ...far(matches("db")) });
  const assigned = (change: "add" | "update" | "delete", one: Pod, old?: Pod) =>
    plugin.mayHelp(waiting, { kind: "assigned-pod", change, pod: one, ...(old && { old }) });
  assert.equal(assigned("add", pod("web")), true);
  assert.equal(assigned("add", pod("db")), false);
  assert.equal(assigned("delete", pod("db")), true);
  assert.equal(assigned("delete", pod("web")), false);
  assert.equal(assigned("delete", pod("g", far(matches("y")))), true);
  assert.equal(assigned("update", pod("web"), pod("x")), true);
  assert.equal(assigned("update", pod("x"), pod("web")), false);
  assert.equal(assigned("update", pod("x"), pod("db")), true);
  const [bare, a, b] = [
    nodeOf("n"),
    nodeOf("n", { labels: { zone: "a" } }),
    nodeOf("n", { labels: { zone: "b" } }),
  ];
  const node = (one: Pod, now: typeof a, old?: typeof a) =>
    plugin.mayHelp(one, nodeEvent("update", now, old));
  const [wantsNear, wantsFar] = [pod("y", near(matches("web"))), pod("y", far(matches("web")))];
  assert.deepEqual(
    [
      node(wantsNear, bare),
      node(wantsNear, a),
      node(wantsNear, a, bare),
      node(wantsNear, bare, a),
      node(wantsNear, b, a),
    ],
    [false, true, true, false, true],
  );
  assert.deepEqual(
    [
      node(wantsFar, bare),
      node(wantsFar, a, bare),
      node(wantsFar, bare, a),
      node(wantsFar, b, a),
      node(wantsFar, a, a),
    ],
    [true, false, true, true, false],
  );
});

/** Upstream: framework/types.go, NodeInfo.AddPod ignores errors of NewPodInfo; filtering.go, PreFilter. */
test("invalid terms of running pods have no effect, and those of the pod itself are its reason", () => {
  const invalid = far(matches("x", "zone", { labelSelector: { matchLabels: { "": "x" } } }));
  const nodes = cluster({ a1: [pod("db", invalid)], b1: [pod("web", far(matches("x")))] });
  assert.deepEqual(filter(plugin, pod("x"), nodes), { a1: "", b1: unwanted });
  assert.match(String(preFilter(plugin, pod("y", invalid), nodes)), /^parsing pod: key: Invalid value/);
});
