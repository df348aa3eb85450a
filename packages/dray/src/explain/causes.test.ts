import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "@dray/api/core/v1";
import { heldClaim } from "../inventory/testing.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "../plan/testing.ts";
import type { Explained } from "./data.ts";
import { explainText } from "./print.ts";
import { explained, now, warning } from "./testing.ts";

const kinds = ({ waits }: Explained): string[] => waits.map((each) => each.for);
const changes = ({ placement }: Explained): string[] =>
  (placement?.changes ?? []).map(({ kind, text, node }) => `${kind}: ${text}: ${node}`);

const runs = (name: string, spec: object, nodeName: string): Manifest =>
  pod(
    name,
    { priority: 0, preemptionPolicy: "Never", ...spec, nodeName },
    { uid: `uid-of-${name}` },
    { status: { phase: "Running" } },
  );
const cpu = (amount: string): object => plain({}, { requests: { cpu: amount } });
const unscheduled = (message: string): object => ({
  status: { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }] },
});

test("a gang is placed as a group: the end of one pod frees too little for three", async () => {
  const group = {
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind: "PodGroup",
    metadata: { name: "g", namespace: "default" },
    spec: { schedulingPolicy: { gang: { minCount: 3 } } },
  };
  const member = (name: string): Manifest =>
    pod(name, usesTemplate("t", { schedulingGroup: { podGroupName: "g" } }));
  const held = ["0", "1", "2"].flatMap((i) => [
    heldClaim(`h${i}`, [`a/gpu-${i}`], [`b${i}`]),
    runs(`b${i}`, usesClaim(`h${i}`), "a"),
  ]);
  const objects = [node("a"), slice("a", 3), gpuClass, template("t"), group, ...held];
  const answer = await explained("pod/w0", [...objects, ...["w0", "w1", "w2"].map(member)], {
    isLive: true,
    podGroups: [group as never],
  });
  const ending = answer.placement!.changes.find(({ kind }) => kind === "pods");
  assert.deepEqual(ending?.about["pods"], ["default/b0", "default/b1", "default/b2"]);
  assert.match(explainText(answer, now), /none of 1 can take (it|pod default\/w1 of its group)/);
});

test("volume claims that are missing or not bound are causes, and the scheduler's words count", async () => {
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  const slow = {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "slow" },
    provisioner: "csi.example.com",
    volumeBindingMode: "Immediate",
  };
  const data = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace: "default" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "slow",
    },
  };
  const waits = pod("waits", plain({ volumes }));
  const missing = await explained("pod/waits", [node("a"), slow, waits]);
  assert.deepEqual(kinds(missing), ["volume"]);
  assert.match(missing.summary, /there is no PersistentVolumeClaim "data" in namespace default/);
  const unbound = await explained("pod/waits", [node("a"), slow, data, waits]);
  assert.match(unbound.summary, /"data" is not bound: provisioner csi\.example\.com of StorageClass "slow"/);
  // Without objects of storage nothing is known of volumes but what the scheduler says.
  const message = 'persistentvolumeclaim "data" not found';
  const said = pod("waits", plain({ volumes }), {}, unscheduled(message));
  const byCondition = await explained("pod/waits", [node("a"), said]);
  assert.deepEqual([kinds(byCondition), byCondition.waits[0]?.message], [["scheduler"], message]);
  assert.match(
    explainText(byCondition, now),
    /it would fit on node a now: the scheduler has not tried it since, or knows more/,
  );
  const silent = await explained("pod/waits", [node("a"), waits]);
  assert.match(silent.summary, /fits on node a: .*, if its volume claims allow that \(data\)/);
});

test("capacity: the figures have the policy, and the largest request that runs is found", async () => {
  const shared = {
    name: "n0",
    allowMultipleAllocations: true,
    capacity: {
      memory: { value: "100", requestPolicy: { default: "10", validRange: { min: "10", max: "50" } } },
    },
  };
  const result = {
    consumedCapacity: { memory: "70" },
    shareID: "00000000-0000-4000-8000-000000000001",
  };
  const held = heldClaim("h", ["a/n0"], [], { result });
  const asks = (memory: string): Manifest => claim("wanted", { capacity: { requests: { memory } } });
  const objects = [node("a"), slice("a", [shared]), gpuClass, pod("waits", usesClaim("wanted"))];
  const free = await explained("pod/waits", [...objects, asks("60")]);
  assert.equal(changes(free)[0], "capacity: request gpu of claim default/wanted asking for 50 of memory: a");
  assert.match(
    explainText(free, now),
    /60 of memory is asked, 100 is left; its request policy accepts 10 to 50/,
  );
  const taken = await explained("pod/waits", [...objects, held, asks("60")]);
  assert.equal(changes(taken)[0], "capacity: request gpu of claim default/wanted asking for 30 of memory: a");
  assert.match(explainText(taken, now), /60 of memory is asked, 30 is left/);
});

/** A pod on its node that does not run yet. */
const starting = (status: object): Manifest =>
  pod(
    "s",
    usesClaim("h", { nodeName: "a" }),
    { uid: "uid-of-p" },
    { status: { phase: "Pending", ...status } },
  );
const onNode = [node("a"), slice("a", 1), gpuClass, heldClaim("h", ["a/gpu-0"], ["p"])];
const sandbox = (status: string): object[] => [{ type: "PodReadyToStartContainers", status }];

test("a prepare error of the past does not hide the image, and one of now is the cause", async () => {
  const failed = warning("FailedPrepareDynamicResources", "no such GPU");
  const waiting = { reason: "ImagePullBackOff", message: "not found" };
  const past = await explained(
    "pod/s",
    [
      ...onNode,
      starting({ conditions: sandbox("True"), containerStatuses: [{ name: "main", state: { waiting } }] }),
    ],
    { isLive: true, events: [failed] },
  );
  assert.deepEqual(kinds(past), ["containers"]);
  const present = await explained("pod/s", [...onNode, starting({ conditions: sandbox("False") })], {
    isLive: true,
    events: [failed],
  });
  assert.deepEqual(kinds(present), ["prepare-failing"]);
});

test("a prepare that hangs has its reason at once", async () => {
  const startTime = "2026-01-01T00:59:58Z";
  const answer = await explained(
    "pod/s",
    [...onNode, starting({ startTime, conditions: sandbox("False") })],
    {
      isLive: true,
    },
  );
  assert.deepEqual(kinds(answer), ["prepare"]);
  assert.match(
    answer.summary,
    /claim default\/h is not prepared on node a.*waits for driver gpu\.example\.com/,
  );
  // An error of an hour ago was reported again if it went on.
  const old = { ...warning("FailedPrepareDynamicResources", "busy"), lastTimestamp: "2026-01-01T00:10:00Z" };
  const later = await explained("pod/s", [...onNode, starting({ startTime, conditions: sandbox("False") })], {
    isLive: true,
    events: [old as Event],
  });
  assert.deepEqual(kinds(later), ["prepare"]);
});

test("a claim shared with a node whose cpu is full: figures, a lower request, the end of a pod", async () => {
  const held = heldClaim("h", ["a/gpu-0"], ["first"]) as { status: object };
  const users = [
    { ...held, status: { ...held.status, allocation: allocation("a", "gpu-0") } } as Manifest,
    runs("first", usesClaim("h"), "a"),
    runs("big", cpu("7"), "a"),
  ];
  const waits = pod("waits", {
    ...(usesClaim("h") as object),
    containers: [
      { name: "main", image: "main:v1", resources: { claims: [{ name: "gpu" }], requests: { cpu: "4" } } },
    ],
  });
  const answer = await explained("pod/waits", [
    node("a"),
    node("b"),
    slice("a", 1),
    gpuClass,
    ...users,
    waits,
  ]);
  assert.deepEqual(changes(answer).slice(0, 2), [
    "requests: container main of the pod asking for 1 of cpu instead of 4: a",
    "pods: pod default/big ending: a",
  ]);
  assert.match(explainText(answer, now), /^ {2}cpu: 4 asked, 1 left of 8$/m);
});

test("host ports name the pods that have them", async () => {
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  const asks = (more: object = {}): object =>
    plain({ containers: [{ name: "c", image: "c", ports }], ...more });
  const answer = await explained("pod/waits", [node("a"), runs("web", asks(), "a"), pod("waits", asks())]);
  assert.deepEqual(changes(answer), [
    "host-port: the pod without the host port 8080/TCP: a",
    "pods: pod default/web ending: a",
    "node: one more node like a: a-copy-1",
  ]);
  assert.match(explainText(answer, now), /port 8080\/TCP: in use by pod default\/web/);
});

test("a selector that fails: guarded, dropped, and the attributes that there are", async () => {
  const expression = 'device.attributes["gpu.example.com"].modle == "a100"';
  const devices = [
    { name: "x", attributes: { model: { string: "a100" } } },
    { name: "y", attributes: { modle: { string: "a100" } } },
  ];
  const objects = [
    node("a"),
    slice("a", devices),
    gpuClass,
    claim("wanted", { selectors: [{ cel: { expression } }] }),
  ];
  const answer = await explained("pod/waits", [...objects, pod("waits", usesClaim("wanted"))]);
  assert.deepEqual(changes(answer).slice(0, 2), [
    `selector: request gpu of claim default/wanted with the selector "modle" in device.attributes["gpu.example.com"] && (${expression}): a`,
    `selector: request gpu of claim default/wanted without the selector ${expression}: a`,
  ]);
  assert.match(explainText(answer, now), /no such key: modle: .*it has gpu\.example\.com\/model/);
});

test("a selector of a class that fails is changed in the class", async () => {
  const bad = 'device.attributes["gpu.example.com"].speed > 5';
  const spec = { selectors: [{ cel: { expression: bad } }] };
  const objects = [
    node("a"),
    slice("a", 1),
    { ...gpuClass, spec },
    claim("wanted"),
    pod("waits", usesClaim("wanted")),
  ];
  assert.equal(
    changes(await explained("pod/waits", objects))[0],
    `class-selector: class gpu without the selector ${bad}: a`,
  );
});

test("the node that lacks least has devices of the class, or none is named", async () => {
  const other = (name: string): Manifest => ({
    ...slice(name, [{ name: "o" }], { resourceSliceCount: 2 }, `${name}-other`),
  });
  const nics = (["a", "b"] as const).map((name) => {
    const made = other(name) as { spec: object };
    return { ...made, spec: { ...made.spec, driver: "nic.example.com" } };
  });
  const taints = [{ key: "old", effect: "NoSchedule" }];
  const objects = [
    node("a"),
    node("b"),
    node("c"),
    ...nics,
    gpuClass,
    claim("wanted"),
    pod("waits", usesClaim("wanted")),
  ];
  const tainted = await explained("pod/waits", [...objects, slice("c", [{ name: "g", taints }])]);
  assert.deepEqual(
    tainted.placement!.promising.map(({ node }) => node),
    ["c"],
  );
  // The incomplete pools are of another driver.
  const none = await explained("pod/waits", objects);
  const text = explainText(none, now);
  assert.doesNotMatch(text, /lacks least/);
  assert.match(text, /No node has a device of each class/);
  assert.doesNotMatch(text, /in a pool that cannot be used/);
});

test("a DeviceTaintRule behind a taint is named, and its end tried", async () => {
  const rule = {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceTaintRule",
    metadata: { name: "maintenance" },
    spec: { deviceSelector: { driver: "gpu.example.com" }, taint: { key: "m", effect: "NoSchedule" } },
  };
  const answer = await explained("pod/waits", [
    ...[node("a"), slice("a", 1), gpuClass, rule, claim("wanted"), pod("waits", usesClaim("wanted"))],
  ]);
  assert.ok(changes(answer).includes("taint-rule: DeviceTaintRule maintenance deleted: a"));
  assert.match(
    explainText(answer, now),
    /m:NoSchedule is not tolerated \(DeviceTaintRule maintenance sets it\)/,
  );
});

test("an extended resource without a node or class that offers it is the cause, with those that are offered", async () => {
  const amounts = { "example.com/gqu": "1" };
  const served = {
    ...gpuClass,
    spec: { ...(gpuClass["spec"] as object), extendedResourceName: "example.com/gpu" },
  };
  const waits = pod("waits", plain({}, { requests: amounts, limits: amounts }));
  const answer = await explained("pod/waits", [node("a"), slice("a", 1), served, waits]);
  assert.equal(kinds(answer)[0], "extended-resource");
  assert.match(
    answer.summary,
    /no node offers example\.com\/gqu, and no DeviceClass stands for it \(offered: example\.com\/gpu, .*did you mean example\.com\/gpu\?/,
  );
});

test("another scheduler is named when it has bound the pod", async () => {
  const bound = {
    ...warning("Scheduled", "Successfully assigned"),
    type: "Normal",
    reportingComponent: "odd",
  };
  const unallocated = [node("a"), slice("a", 1), gpuClass, claim("wanted")];
  const waits = pod(
    "s",
    usesClaim("wanted", { nodeName: "a", schedulerName: "odd" }),
    {},
    { status: { phase: "Pending" } },
  );
  const answer = await explained("pod/s", [...unallocated, waits], {
    isLive: true,
    events: [bound as Event],
  });
  assert.match(
    answer.summary,
    /claim default\/wanted has no devices: scheduler odd has bound the pod without them/,
  );
  assert.ok(answer.facts.some(({ name, value }) => name === "bound by" && value === "scheduler odd"));
});

test("pods of higher priority take what becomes free before", async () => {
  const objects = [
    node("a"),
    slice("a", 1),
    gpuClass,
    heldClaim("h", ["a/gpu-0"], ["p"]),
    runs("p", usesClaim("h"), "a"),
  ];
  const asks = (name: string, priority: number): Manifest[] => [
    claim(name),
    pod(name, usesClaim(name, { priority, preemptionPolicy: "Never" })),
  ];
  const answer = await explained("pod/waits", [...objects, ...asks("first", 10), ...asks("waits", 0)]);
  assert.deepEqual(changes(answer), [
    "device: 2 more devices like gpu.example.com/a/gpu-0 on node a: a",
    "node: 2 more nodes like a: a-copy-2",
  ]);
});

test("a pod that has failed says what ended it", async () => {
  const terminated = { exitCode: 137, reason: "OOMKilled" };
  const status = { phase: "Failed", containerStatuses: [{ name: "main", state: { terminated } }] };
  const answer = await explained("pod/e", [node("a"), pod("e", plain({ nodeName: "a" }), {}, { status })]);
  assert.equal(
    answer.summary,
    "pod default/e has ended (Failed): container main ended with exit code 137 (OOMKilled)",
  );
});

test("a change names the waiting pods of the same priority that may take the place", async () => {
  const objects = [
    ...[node("a"), slice("a", 1), gpuClass, template("t")],
    ...[heldClaim("h", ["a/gpu-0"], ["holder"]), runs("holder", usesClaim("h"), "a")],
  ];
  const waiting = (count: number): Manifest[] =>
    Array.from({ length: count }, (_, i) => pod(`w${i}`, usesTemplate("t")));
  const textOf = async (count: number): Promise<string> =>
    explainText(await explained("pod/w0", [...objects, ...waiting(count)]), now);
  assert.doesNotMatch(await textOf(1), /same priority/);
  assert.match(
    await textOf(3),
    /pod default\/holder ending: it lands on a, unless a waiting pod of the same priority gets it first \(default\/w1 and 1 other\)/,
  );
  assert.match(await textOf(50), /gets it first \(default\/w1 and at least 29 others\)/);
  const gated = pod("w1", usesTemplate("t", { schedulingGates: [{ name: "example.com/gate" }] }));
  assert.doesNotMatch(
    explainText(await explained("pod/w0", [...objects, ...waiting(1), gated]), now),
    /same priority/,
  );
});
