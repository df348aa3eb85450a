import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceClass, heldClaim, partitionedGpu } from "../inventory/testing.ts";
import {
  claim,
  gpuClass,
  type Manifest,
  node,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "../plan/testing.ts";
import type { Explained } from "./data.ts";
import { explainText } from "./print.ts";
import { explained, now, warning } from "./testing.ts";

/** A pod that runs on the node with that claim. */
const runs = (name: string, claimName: string, nodeName: string, priority = 0): Manifest =>
  pod(
    name,
    usesClaim(claimName, { nodeName, priority, preemptionPolicy: "PreemptLowerPriority" }),
    { uid: `uid-of-${name}` },
    { status: { phase: "Running" } },
  );

const waits = pod("waits", usesClaim("wanted"));
const cluster = [node("a"), slice("a", 2), gpuClass];
const full = [
  ...cluster,
  heldClaim("h0", ["a/gpu-0"], ["p0"]),
  runs("p0", "h0", "a", 10),
  heldClaim("h1", ["a/gpu-1"], ["p1"]),
  runs("p1", "h1", "a"),
];

const kinds = ({ waits }: Explained): string[] => waits.map((each) => each.for);
const changes = ({ placement }: Explained): string[] =>
  (placement?.changes ?? []).map(({ kind, text, node }) => `${kind}: ${text}: ${node}`);

test("lists a missing claim, class or gate before the nodes", async () => {
  const made = template("t");
  const table: [objects: Manifest[], first: string, message: RegExp][] = [
    [[pod("waits", usesTemplate("t"))], "claim-missing", /no ResourceClaimTemplate "t" in namespace default/],
    [[pod("waits", usesTemplate("t")), made], "claim-not-created", /has not created it from template t/],
    [[waits], "claim-missing", /no ResourceClaim "wanted"/],
    [[waits, claim("wanted", { deviceClassName: "gqu" })], "class-missing", /did you mean gpu/],
    [
      [
        pod("waits", usesClaim("wanted", { schedulingGates: [{ name: "example.com/quota" }] })),
        claim("wanted"),
      ],
      "scheduling-gate",
      /example.com\/quota/,
    ],
  ];
  for (const [objects, first, message] of table) {
    const answer = await explained("pod/waits", [...cluster, ...objects], { isLive: true });
    assert.equal(kinds(answer)[0], first);
    assert.match(answer.waits[0]!.message, message);
    assert.match(answer.summary, message);
  }
  // The result also has the placement: the pod would fit.
  const gated = await explained("pod/waits", [...cluster, ...table[4]![0]]);
  assert.equal(gated.placement?.fits, "a");
});

test("the claims and the groups of manifests are made for the trial", async () => {
  const alone = await explained("pod/waits", [...cluster, template("t"), pod("waits", usesTemplate("t"))]);
  assert.equal(alone.summary, "pod default/waits fits on node a: a scheduler binds it as soon as it tries");
  const group = {
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind: "PodGroup",
    metadata: { name: "g" },
    spec: { schedulingPolicy: { gang: { minCount: 2 } } },
  };
  const member = (name: string): Manifest =>
    pod(name, usesTemplate("t", { schedulingGroup: { podGroupName: "g" } }));
  const answer = await explained("pod/waits", [
    ...[...cluster, template("t"), group],
    ...[member("waits"), member("other")],
  ]);
  assert.deepEqual(kinds(answer), []);
});

test("a claim that exceeds a quota is shown with the quota", async () => {
  const quota = {
    metadata: { name: "devices", namespace: "default" },
    status: {
      hard: { "gpu.deviceclass.resource.k8s.io/devices": "1" },
      used: { "gpu.deviceclass.resource.k8s.io/devices": "1" },
    },
  };
  const answer = await explained("pod/waits", [...cluster, template("t"), pod("waits", usesTemplate("t"))], {
    events: [warning("FailedResourceClaimCreation", "PodResourceClaim gpu: exceeded quota: devices")],
    quotas: [quota as never],
  });
  assert.equal(kinds(answer)[0], "quota");
  assert.match(
    answer.waits[0]!.message,
    /quota devices: 1 of 1 gpu.deviceclass.resource.k8s.io\/devices are used/,
  );
  assert.equal(answer.waits[0]!.since, "2026-01-01T00:55:00.000Z");
});

test("shows a group that is too small, devices that are not ready and a nominated node", async () => {
  const grouped = pod("waits", usesClaim("wanted", { schedulingGroup: { podGroupName: "g" } }));
  const group = {
    metadata: { name: "g", namespace: "default" },
    spec: { schedulingPolicy: { gang: { minCount: 3 } } },
  };
  const small = await explained("pod/waits", [...cluster, grouped, claim("wanted")], {
    isLive: true,
    podGroups: [group as never],
  });
  // Schedulers report no reason for a pod whose group holds it back.
  assert.deepEqual(kinds(small), ["pod-group"]);
  assert.match(small.waits[0]!.message, /group g: 1 of the 3 pods/);
  const unserved = await explained("pod/waits", [...cluster, grouped, claim("wanted")], {
    isLive: true,
    servesPodGroups: false,
  });
  assert.ok(!kinds(unserved).includes("pod-group"), kinds(unserved).join());
  const preparing = heldClaim("wanted", ["a/gpu-0"], [], {
    result: { bindingConditions: ["attached"], bindingFailureConditions: ["broken"] },
  });
  const nominated = pod("waits", usesClaim("wanted"), {}, { status: { nominatedNodeName: "a" } });
  const prepared = await explained("pod/waits", [...cluster, preparing, nominated]);
  assert.deepEqual(kinds(prepared).slice(0, 1), ["binding-conditions"]);
  assert.match(prepared.waits[0]!.message, /its driver has not reported attached/);
  // A scheduler nominates the node for such a pod too (KEP-5278): none ends there.
  assert.ok(!kinds(prepared).includes("preemption"), kinds(prepared).join());
  const victim = pod(
    "victim",
    { containers: [{ name: "main", image: "a" }], nodeName: "a" },
    { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/keep"] },
  );
  const kept = await explained("pod/waits", [...cluster, claim("wanted"), nominated, victim]);
  assert.equal(kept.waits[0]?.for, "preemption");
  assert.match(
    kept.waits[0].message,
    /^node a is kept for it: default\/victim is ending there \(finalizer example.com\/keep/,
  );
});

test("a pod can use the claim of its group, and of no other", async () => {
  const inGroup = (podGroupName: string): Manifest =>
    pod(
      "waits",
      usesTemplate("t", { schedulingGroup: { podGroupName } }),
      {},
      { status: { resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "shared" }] } },
    );
  const owner = { apiVersion: "scheduling.k8s.io/v1beta1", kind: "PodGroup", name: "g", uid: "uid-of-g" };
  const metadata = { name: "shared", ownerReferences: [{ ...owner, controller: true }] };
  const shared = claim("shared", {}, { metadata });
  const own = await explained("pod/waits", [...cluster, template("t"), inGroup("g"), shared]);
  assert.ok(!kinds(own).includes("claim-unusable"), String(kinds(own)));
  const other = await explained("pod/waits", [...cluster, template("t"), inGroup("h"), shared]);
  assert.equal(kinds(other)[0], "claim-unusable");
});

test("allocated devices: their holders, and the single changes that help, in order", async () => {
  const tainted = slice("b", [{ name: "x", taints: [{ key: "old", value: "1", effect: "NoSchedule" }] }]);
  const answer = await explained("pod/waits", [...full, node("b"), tainted, claim("wanted"), waits]);
  assert.deepEqual(kinds(answer), ["devices"]);
  assert.deepEqual(changes(answer), [
    "toleration: request gpu of claim default/wanted tolerating old=1:NoSchedule: b",
    "device: 1 more device like gpu.example.com/a/gpu-0 on node a: a",
    // The pod with the lower priority.
    "pods: pod default/p1 ending: a",
    "node: one more node like a: a-copy-1",
  ]);
  const holders = answer
    .placement!.promising.find((each) => each.node === "a")!
    .claims[0]!.requests[0]!.refused.map(({ holder, pods }) => [holder, pods]);
  assert.deepEqual(holders, [
    ["default/h0", ["default/p0"]],
    ["default/h1", ["default/p1"]],
  ]);
  assert.match(explainText(answer, now), /in use: allocated to claim default\/h0 of pod default\/p0/);
});

test("several devices need several pods to end, or fewer devices to be asked for", async () => {
  const three = slice("a", 3);
  const answer = await explained(
    "pod/waits",
    [...full, three, claim("wanted", { count: 3 }), waits].filter((each) => each !== cluster[1]),
  );
  assert.deepEqual(changes(answer).slice(0, 3), [
    "count: request gpu of claim default/wanted for 1 instead of 3 devices: a",
    "device: 2 more devices like gpu.example.com/a/gpu-2 on node a: a",
    "pods: pods default/p1, default/p0 ending: a",
  ]);
});

test("names the selectors and constraints that rule devices out", async () => {
  const big = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("100Gi")) >= 0';
  const model = 'device.attributes["gpu.example.com"].model == "a100"';
  const selectors = [{ cel: { expression: model } }, { cel: { expression: big } }];
  const bySelector = await explained("pod/waits", [...cluster, claim("wanted", { selectors }), waits]);
  assert.equal(
    changes(bySelector)[0],
    `selector: request gpu of claim default/wanted without the selector ${big}: a`,
  );
  const constrained = claim("wanted", { count: 2 }) as { spec: { devices: object } };
  const wanted = {
    ...constrained,
    spec: {
      devices: { ...constrained.spec.devices, constraints: [{ matchAttribute: "gpu.example.com/index" }] },
    },
  };
  const byConstraint = await explained("pod/waits", [...cluster, wanted as unknown as Manifest, waits]);
  assert.deepEqual(
    changes(byConstraint)[0],
    "constraint: claim default/wanted without the constraint matchAttribute gpu.example.com/index: a",
  );
});

test("an extended resource that devices serve is explained like a claim", async () => {
  const served = {
    ...gpuClass,
    spec: { ...(gpuClass as { spec: object }).spec, extendedResourceName: "example.com/gpu" },
  };
  const amounts = { "example.com/gpu": "2" };
  const asks = pod("waits", {
    containers: [{ name: "c", image: "c", resources: { requests: amounts, limits: amounts } }],
  });
  const held = heldClaim("h0", ["a/gpu-0"], ["p0"]);
  const objects = [node("a"), slice("a", 2), served, held, runs("p0", "h0", "a"), asks];
  const answer = await explained("pod/waits", objects);
  assert.deepEqual(changes(answer), [
    "requests: container c of the pod asking for 1 of example.com/gpu instead of 2: a",
    "device: 1 more device like gpu.example.com/a/gpu-1 on node a: a",
    "pods: pod default/p0 ending: a",
    "node: one more node like a: a-copy-1",
  ]);
});

test("two changes are tried together where none helps alone", async () => {
  const big = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("100Gi")) >= 0';
  const tainted = node("b", { spec: { taints: [{ key: "team", effect: "NoSchedule" }] } });
  const objects = [
    ...full,
    tainted,
    slice("b", 1),
    claim("wanted", { selectors: [{ cel: { expression: big } }] }),
    waits,
  ];
  const answer = await explained("pod/waits", objects);
  assert.equal(answer.placement!.changes.length, 1);
  assert.match(
    changes(answer)[0] ?? "",
    /^several: .*without the selector .*, and the pod tolerating the taint team:NoSchedule/,
  );
});

test("where no change helps the text says what was tried, and why an empty node would not do", async () => {
  const asks = pod("waits", usesClaim("wanted", { nodeSelector: { zone: "x" } }));
  const nowhere = claim("wanted", { deviceClassName: "none" });
  const answer = await explained("pod/waits", [...cluster, deviceClass("none", "false"), nowhere, asks]);
  assert.deepEqual(changes(answer), []);
  assert.equal(answer.placement!.emptyNode?.node, "a");
  assert.match(
    explainText(answer, now),
    /^None of these would help \(\d+ changes tried\): .*one more node.*\nAn empty node like a would not take it either: /m,
  );
});

test("names an exhausted counter and its holders", async () => {
  const whole = deviceClass("whole", 'device.attributes["gpu.example.com"].kind == "whole"');
  const held = heldClaim("h", ["a-g0/g0-half-0"], ["p"], { exactly: { deviceClassName: "half" } });
  const answer = await explained("pod/waits", [
    ...[node("a"), ...partitionedGpu("a", "g0"), whole, deviceClass("half", "true")],
    ...[held, runs("p", "h", "a"), claim("wanted", { deviceClassName: "whole" }), waits],
  ]);
  const groups = answer.placement!.promising[0]!.claims[0]!.requests[0]!.refused;
  const counter = groups.find(({ check }) => check === "counter")?.counter;
  assert.deepEqual(counter, { counterSet: "g0", counter: "memory", asked: "80Gi", left: "40Gi" });
  assert.ok(changes(answer).includes("pods: pod default/p ending: a"));
});

test("a node that is not ready is named with its condition, and its recovery tried", async () => {
  const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  const broken = node("a", { spec: { taints: [taint, { ...taint, effect: "NoExecute" }] } });
  const conditions = [
    { type: "Ready", status: "False", reason: "KubeletNotReady", message: "no network plugin" },
  ];
  const status = { ...(broken["status"] as object), conditions };
  const objects = [slice("a", 1), gpuClass, claim("wanted"), waits];
  const answer = await explained("pod/waits", [{ ...broken, status }, ...objects]);
  assert.equal(
    changes(answer)[0],
    "node-ready: node a healthy again (it is not ready: KubeletNotReady: no network plugin): a",
  );
  const full = node("a", {
    spec: { taints: [{ key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" }] },
  });
  assert.equal(
    changes(await explained("pod/waits", [full, ...objects]))[0],
    "node-ready: node a healthy again (it has the taint node.kubernetes.io/disk-pressure): a",
  );
});

test("nodes that are closed to the pod: uncordon, tolerate, select another", async () => {
  const cordoned = node("a", { spec: { unschedulable: true } });
  const byCordon = await explained("pod/waits", [cordoned, slice("a", 1), gpuClass, claim("wanted"), waits]);
  assert.equal(changes(byCordon)[0], "uncordon: node a uncordoned: a");
  const picky = pod("waits", usesClaim("wanted", { nodeSelector: { zone: "x" } }));
  const bySelector = await explained("pod/waits", [...cluster, claim("wanted"), picky]);
  assert.equal(
    changes(bySelector)[0],
    "node-selector: the pod without its node selector and required node affinity: a",
  );
});

test("a pod that no scheduler has tried names its scheduler", async () => {
  const odd = pod("waits", usesClaim("wanted", { schedulerName: "odd" }));
  const answer = await explained("pod/waits", [...cluster, claim("wanted"), odd], { isLive: true });
  assert.deepEqual(kinds(answer), ["scheduler"]);
  assert.match(answer.summary, /scheduler "odd" has not reported anything/);
  assert.equal(answer.placement?.fits, "a");
});
