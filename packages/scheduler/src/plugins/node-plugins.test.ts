import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { nodeEvent } from "../framework/changes.ts";
import type { Plugin } from "../framework/framework.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeDeclaredFeatures } from "./node-declared-features.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { schedulingGates } from "./scheduling-gates.ts";
import { taintToleration } from "./taint-toleration.ts";
import { filter, nodeInfo, nodeOf, podOf, preFilter, scores } from "./testing/plugins.ts";

const changed = (node: ReturnType<typeof nodeOf>, old?: ReturnType<typeof nodeOf>) =>
  nodeEvent(old === undefined ? "add" : "update", node, old);

test("NodeName: a pod that names its node is for no other", () => {
  const pod = podOf({ spec: { nodeName: "b" } });
  const nodes = [nodeInfo("a"), nodeInfo("b")];
  assert.deepEqual(preFilter(nodeName, pod), ["b"]);
  assert.deepEqual(filter(nodeName, pod, nodes), {
    a: "!node(s) didn't match the requested node name",
    b: "",
  });
  assert.equal(preFilter(nodeName, podOf()), "skip");
});

test("SchedulingGates: all names, and it waits until the last is gone", () => {
  const gated = podOf({ spec: { schedulingGates: [{ name: "a" }, { name: "b" }] } });
  assert.equal(schedulingGates.preEnqueue!(gated), "waiting for scheduling gates: [a b]");
  assert.equal(schedulingGates.preEnqueue!(podOf()), undefined);
  const event = (pod: typeof gated) => ({ kind: "own-pod", uid: "u", pod, old: gated }) as const;
  assert.equal(
    schedulingGates.mayHelp(gated, event(podOf({ spec: { schedulingGates: [{ name: "a" }] } }))),
    false,
  );
  assert.equal(schedulingGates.mayHelp(gated, event(podOf())), true);
});

test("NodeUnschedulable: cordoned nodes, for pods that do not tolerate it", () => {
  const nodes = [nodeInfo("open"), nodeInfo("cordoned", { spec: { unschedulable: true } })];
  assert.deepEqual(filter(nodeUnschedulable, podOf(), nodes), {
    open: "",
    cordoned: "!node(s) were unschedulable",
  });
  const tolerations = [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }];
  const tolerant = podOf({ spec: { tolerations } });
  assert.deepEqual(filter(nodeUnschedulable, tolerant, nodes), { open: "", cordoned: "" });
  const [open, cordoned] = nodes.map(({ node }) => node);
  assert.equal(nodeUnschedulable.mayHelp(podOf(), changed(open!, cordoned)), true);
  assert.equal(nodeUnschedulable.mayHelp(podOf(), changed(cordoned!, open)), false);
  assert.equal(nodeUnschedulable.mayHelp(podOf(), changed(open!, open)), false);
  const own = { kind: "own-pod", uid: "u", pod: tolerant } as const;
  assert.equal(nodeUnschedulable.mayHelp(podOf(), own), true);
});

test("TaintToleration: blocking effects filter, PreferNoSchedule scores", () => {
  const taint = (effect: string, key = "k") => ({ key, value: "v", effect });
  const nodes = [
    nodeInfo("free"),
    nodeInfo("blocked", { spec: { taints: [taint("NoExecute")] } }),
    nodeInfo("one", { spec: { taints: [taint("PreferNoSchedule")] } }),
    nodeInfo("two", { spec: { taints: [taint("PreferNoSchedule"), taint("PreferNoSchedule", "other")] } }),
  ];
  assert.deepEqual(filter(taintToleration, podOf(), nodes), {
    free: "",
    blocked: "!node(s) had untolerated taint(s)",
    one: "",
    two: "",
  });
  const without = nodes.filter(({ name }) => name !== "blocked");
  assert.deepEqual(scores(taintToleration, podOf(), without), { free: 100, one: 50, two: 0 });
  const tolerant = podOf({ spec: { tolerations: [{ key: "k", operator: "Exists" }] } });
  assert.deepEqual(filter(taintToleration, tolerant, nodes)["blocked"], "");
  assert.deepEqual(scores(taintToleration, tolerant, without), { free: 100, one: 100, two: 0 });
});

test("TaintToleration: only a change that makes a node tolerable helps", () => {
  const [free, blocked] = [
    nodeOf("n"),
    nodeOf("n", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }),
  ];
  assert.equal(taintToleration.mayHelp(podOf(), changed(free)), true);
  assert.equal(taintToleration.mayHelp(podOf(), changed(blocked)), false);
  assert.equal(taintToleration.mayHelp(podOf(), changed(free, blocked)), true);
  assert.equal(taintToleration.mayHelp(podOf(), changed(free, free)), false);
});

const zone = (values: string[], more: object = {}) => ({
  matchExpressions: [{ key: "zone", operator: "In", values }],
  ...more,
});
const named = (...values: string[]) => ({ matchFields: [{ key: "metadata.name", operator: "In", values }] });
const requiring = (...nodeSelectorTerms: object[]) =>
  podOf({
    spec: {
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
      },
    },
  });

test("NodeAffinity: selector, affinity and what the arguments add", () => {
  const plain = nodeAffinity({});
  const added = nodeAffinity({
    addedAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone(["a", "b"])] },
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, preference: zone(["b"]) }],
    },
  } as Parameters<typeof nodeAffinity>[0]);
  const nodes = ["a", "b", "c"].map((value) => nodeInfo(value, { labels: { zone: value } }));
  const own = "!node(s) didn't match Pod's node affinity/selector";
  const enforced = "!node(s) didn't match scheduler-enforced node affinity";
  const cases: [Plugin, ReturnType<typeof podOf>, Record<string, string>][] = [
    [plain, podOf(), { a: "", b: "", c: "" }],
    [plain, podOf({ spec: { nodeSelector: { zone: "a" } } }), { a: "", b: own, c: own }],
    [plain, requiring(zone(["b"]), zone(["c"])), { a: own, b: "", c: "" }],
    // No term matches nothing.
    [plain, requiring(), { a: own, b: own, c: own }],
    [added, podOf(), { a: "", b: "", c: enforced }],
    [added, requiring(zone(["b", "c"])), { a: own, b: "", c: enforced }],
  ];
  for (const [plugin, pod, expected] of cases) assert.deepEqual(filter(plugin, pod, nodes), expected);
  assert.equal(scores(plain, podOf(), nodes), undefined);
  assert.deepEqual(scores(added, podOf(), nodes), { a: 0, b: 100, c: 0 });
  const preferred = podOf({
    spec: {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 30, preference: zone(["a"]) },
            { weight: 5, preference: zone(["a", "c"]) },
          ],
        },
      },
    },
  });
  // 35, 10 and 5 of 35.
  assert.deepEqual(scores(added, preferred, nodes), { a: 100, b: 28, c: 14 });
});

test("NodeAffinity: terms that all name nodes leave those", () => {
  const plain = nodeAffinity({});
  const cases: [object[], unknown][] = [
    [
      [named("a"), named("b")],
      ["a", "b"],
    ],
    [[named("a"), zone(["a"])], "continue"],
    [[{ matchFields: [...named("a", "b").matchFields, ...named("b").matchFields] }], ["b"]],
    [
      [{ matchFields: [...named("a").matchFields, ...named("b").matchFields] }],
      "pod affinity terms conflict",
    ],
  ];
  for (const [terms, expected] of cases) assert.deepEqual(preFilter(plain, requiring(...terms)), expected);
});

test("NodeAffinity: a node helps that has come to match", () => {
  const plain = nodeAffinity({});
  const pod = podOf({ spec: { nodeSelector: { zone: "a" } } });
  const [other, matching] = [nodeOf("n", { labels: { zone: "b" } }), nodeOf("n", { labels: { zone: "a" } })];
  assert.equal(plain.mayHelp(pod, changed(other)), false);
  assert.equal(plain.mayHelp(pod, changed(matching)), true);
  assert.equal(plain.mayHelp(pod, changed(matching, other)), true);
  assert.equal(plain.mayHelp(pod, changed(matching, matching)), false);
});

/** Upstream: HostPortInfo.CheckConflict */
test("NodePorts: the same port and protocol on the same address, where 0.0.0.0 is all of them", () => {
  const port = (hostPort: number, more: object = {}) => ({ containerPort: 80, hostPort, ...more });
  const taking = (...ports: object[]) => podOf({ spec: { containers: [{ name: "c", image: "i", ports }] } });
  const cases: [object, object, boolean][] = [
    [port(80), port(80), false],
    [port(80), port(81), true],
    [port(80), port(80, { protocol: "UDP" }), true],
    [port(80, { hostIP: "10.0.0.1" }), port(80, { hostIP: "10.0.0.2" }), true],
    [port(80, { hostIP: "10.0.0.1" }), port(80, { hostIP: "10.0.0.1" }), false],
    [port(80, { hostIP: "10.0.0.1" }), port(80), false],
    [port(80), port(80, { hostIP: "10.0.0.1" }), false],
  ];
  for (const [taken, wanted, fits] of cases) {
    const node = nodeInfo("n", { pods: [taking(taken)] });
    const reason = fits ? "" : "node(s) didn't have free ports for the requested pod ports";
    assert.deepEqual(
      filter(nodePorts, taking(wanted), [node]),
      { n: reason },
      JSON.stringify([taken, wanted]),
    );
    const event = { kind: "assigned-pod", change: "delete", pod: taking(taken) } as const;
    assert.equal(nodePorts.mayHelp(taking(wanted), event), !fits);
  }
  const sidecar = { name: "s", image: "i", restartPolicy: "Always", ports: [port(80)] };
  const { restartPolicy: _, ...init } = sidecar;
  const beside = (container: object) =>
    nodeInfo("n", { pods: [podOf({ spec: { initContainers: [container] } })] });
  assert.notDeepEqual(filter(nodePorts, taking(port(80)), [beside(sidecar)]), { n: "" });
  assert.deepEqual(filter(nodePorts, taking(port(80)), [beside(init)]), { n: "" });
});

test("NodePorts: a port of two pods is free when both are gone", () => {
  const pods = ["a", "b"].map((name) =>
    podOf({ name, spec: { containers: [{ name: "c", image: "i", ports: [{ hostPort: 80 }] }] } }),
  );
  const node = nodeInfo("n", { pods });
  node.remove(pods[0]!.metadata.uid);
  assert.notDeepEqual(filter(nodePorts, pods[0]!, [node]), { n: "" });
  node.remove(pods[1]!.metadata.uid);
  assert.deepEqual(filter(nodePorts, pods[0]!, [node]), { n: "" });
});

test("NodeDeclaredFeatures: the node must declare the features that the spec needs (KEP-5328)", () => {
  const plugin = nodeDeclaredFeatures(featuresOf());
  const restartPolicyRules = [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [1] } }];
  const pod = podOf({ spec: { containers: [{ name: "c", image: "i", restartPolicyRules }] } });
  const declaredFeatures = ["RestartAllContainersOnContainerExits"];
  const nodes = [nodeInfo("new", { status: { declaredFeatures } }), nodeInfo("old")];
  assert.deepEqual(filter(plugin, pod, nodes), {
    new: "",
    old: "!node(s) didn't match Pod's required features",
  });
  assert.equal(preFilter(plugin, podOf()), "skip");
  const users = podOf({ spec: { hostNetwork: true, hostUsers: false } });
  assert.equal(preFilter(plugin, users), "continue");
  assert.equal(preFilter(nodeDeclaredFeatures(featuresOf("1.35")), pod), "skip");
  const [declares, silent] = nodes.map(({ node }) => node);
  assert.equal(plugin.mayHelp(pod, changed(declares!, silent)), true);
  assert.equal(plugin.mayHelp(pod, changed(silent!, silent)), false);
});
