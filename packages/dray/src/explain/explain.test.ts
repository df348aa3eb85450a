import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deviceClass, heldClaim, partitionedGpu } from "../inventory/testing.ts";
import { type Schema, violations } from "../observe/json-schema.ts";
import { claim, gpuClass, type Manifest, node, pod, slice, template, usesClaim } from "../plan/testing.ts";
import { explainText } from "./print.ts";
import { parseSubject } from "./subject.ts";
import { explained, now, warning } from "./testing.ts";

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../schema/explain.json"), "utf8"),
) as Schema;

const rule = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceTaintRule",
  metadata: { name: "maintenance" },
  spec: { deviceSelector: { device: "gpu-1" }, taint: { key: "maintenance", effect: "NoExecute" } },
};

const held = heldClaim("h", ["a/gpu-0"], ["p"]) as { status: object };
const withStatus: Manifest = {
  ...held,
  status: {
    ...held.status,
    devices: [
      {
        driver: "gpu.example.com",
        pool: "a",
        device: "gpu-0",
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "Up",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
        networkData: { interfaceName: "eth1", ips: ["10.0.0.1/24"] },
      },
    ],
  },
};

const objects: Manifest[] = [
  ...[node("a"), slice("a", 2), node("b"), ...partitionedGpu("b", "g0"), gpuClass, rule, template("t")],
  ...[deviceClass("nothing", "false"), withStatus, claim("wanted", { count: 9 })],
  pod(
    "p",
    usesClaim("h", { nodeName: "a" }),
    { uid: "uid-of-p" },
    {
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "main",
            allocatedResourcesStatus: [
              {
                name: "claim:gpu",
                resources: [{ resourceID: "vendor.com/gpu=0", health: "Unhealthy", message: "hot" }],
              },
            ],
          },
        ],
      },
    },
  ),
  pod("waits", usesClaim("wanted")),
];

test("the data of every kind is as its schema says", async () => {
  const subjects = [
    ...["pod/waits", "pod/p", "claim/h", "claim/wanted", "node/a", "node/b", "class/gpu", "class/nothing"],
    ...["device/a/gpu-0", "device/g0-whole", "slice/a-gpus", "slice/b-g0-counters"],
  ];
  for (const subject of subjects) {
    const data: unknown = JSON.parse(JSON.stringify(await explained(subject, objects)));
    assert.deepEqual(violations(schema, data), [], subject);
  }
});

test("a running pod: which devices, from which request, and how the driver says they are", async () => {
  const answer = await explained("pod/p", objects);
  assert.equal(answer.state, "running");
  assert.deepEqual(answer.waits, []);
  assert.match(
    explainText(answer, now),
    /Claim default\/h \(gpu of the pod\): reserved\n {2}gpu\.example\.com\/a\/gpu-0: request gpu, class gpu; health Unhealthy; Ready=True; network eth1 10\.0\.0\.1\/24\n {2}container main has vendor\.com\/gpu=0, health Unhealthy: hot\n/,
  );
});

test("a claim shows the chosen alternative and its configuration", async () => {
  const base = heldClaim("h", ["a/gpu-0"], ["p"]) as { status: { allocation: { devices: object } } };
  const alternatives = ["big", "small"].map((name) => ({ name, deviceClassName: "gpu" }));
  const chosen = {
    ...base,
    spec: { devices: { requests: [{ name: "gpu", firstAvailable: alternatives }] } },
    status: {
      ...base.status,
      allocation: {
        devices: {
          results: [{ request: "gpu/small", driver: "gpu.example.com", pool: "a", device: "gpu-0" }],
          config: [
            { source: "FromClass", opaque: { driver: "gpu.example.com", parameters: { mode: "fast" } } },
          ],
        },
      },
    },
  };
  const text = explainText(
    await explained("claim/h", [...objects.filter((each) => each !== withStatus), chosen]),
    now,
  );
  assert.match(text, /gpu-0: request gpu\/small \(alternative 2 of 2\), class gpu; health Unhealthy\n/);
  assert.match(text, /configuration of the class for gpu\.example\.com: \{"mode":"fast"\}\n/);
});

test("a pod on its node says what it waits for there", async () => {
  const starting = pod(
    "s",
    usesClaim("h", { nodeName: "a" }),
    { uid: "uid-of-p" },
    { status: { phase: "Pending" } },
  );
  const cases: [message: string, kind: string, expected: RegExp][] = [
    [
      "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu.example.com is not registered",
      "driver-not-registered",
      /driver gpu\.example\.com is not registered with the kubelet of node a/,
    ],
    ["Failed to prepare dynamic resources: no such GPU", "prepare-failing", /no such GPU/],
  ];
  for (const [message, kind, expected] of cases) {
    const answer = await explained("pod/s", [...objects, starting], {
      events: [warning("FailedPrepareDynamicResources", message)],
    });
    assert.equal(answer.state, "starting");
    assert.deepEqual(
      answer.waits.map((each) => each.for),
      [kind],
    );
    assert.match(answer.summary, expected);
  }
  const lost = pod(
    "s",
    usesClaim("h", { nodeName: "gone" }),
    { uid: "uid-of-p" },
    { status: { phase: "Pending" } },
  );
  assert.match((await explained("pod/s", [...objects, lost])).summary, /node gone does not exist/);
});

test("a pod and a claim that do not go away say what they wait for", async () => {
  const metadata = {
    uid: "uid-of-p",
    finalizers: ["example.com/hold"],
    deletionTimestamp: "2026-01-01T00:59:50Z",
  };
  const running = { name: "main", state: { running: {} } };
  const status = { phase: "Running", containerStatuses: [running] };
  const ending = pod("e", usesClaim("h", { nodeName: "a" }), metadata, { status });
  const answer = await explained("pod/e", [...objects, ending], {
    events: [warning("FailedUnprepareDynamicResources", "device is busy")],
  });
  assert.equal(answer.state, "ending");
  assert.deepEqual(
    answer.waits.map((each) => each.for),
    ["unprepare-failing", "finalizers"],
  );
  const alone = await explained("pod/e", [...objects, ending]);
  assert.match(alone.waits[0]!.message, /1 container still running \(main\): their time to end is over/);
  const deleted = {
    ...heldClaim("d", ["a/gpu-1"], ["p"]),
    metadata: {
      name: "d",
      uid: "d",
      deletionTimestamp: "2026-01-01T00:59:50Z",
      finalizers: ["resource.kubernetes.io/delete-protection"],
    },
  };
  const claimAnswer = await explained("claim/d", [...objects, deleted]);
  assert.deepEqual(
    claimAnswer.waits.map((each) => each.for),
    ["termination", "finalizers"],
  );
  assert.match(claimAnswer.summary, /being deleted: it is reserved for p: they have to end first/);
});

test("a device, a class, a node and a slice show their holders and what is left", async () => {
  const device = await explained("device/g0-half-0", [...objects, heldClaim("part", ["b-g0/g0-half-1"])]);
  assert.equal(device.state, "free");
  const facts = new Map(device.facts.map(({ name, value }) => [name, value]));
  assert.equal(facts.get("counter g0/memory"), "takes 40Gi, 40Gi of 80Gi left");
  assert.equal(facts.get("available to"), "class gpu, template default/t");
  const tainted = await explained("device/a/gpu-1", objects);
  assert.equal(tainted.state, "tainted");
  assert.deepEqual(
    tainted.waits.map(({ object }) => object),
    ["DeviceTaintRule maintenance"],
  );
  const nothing = await explained("class/nothing", objects);
  assert.equal(nothing.state, "empty");
  assert.match(nothing.summary, /class nothing chooses none of the 5 devices that nodes can reach/);
  const nodeAnswer = await explained("node/b", objects);
  assert.deepEqual([nodeAnswer.counts?.units, nodeAnswer.headroom["gpu"]?.count], [1, 2]);
  const outdated = { ...slice("a", 1, { generation: 0 }), metadata: { name: "old" } };
  assert.equal((await explained("slice/old", [...objects, outdated])).state, "outdated");
});

test("a device that no slice publishes any more is marked", async () => {
  const lost = heldClaim("lost", ["gone/gpu-0"], ["p"]);
  const answer = await explained("claim/lost", [...objects, lost]);
  assert.equal(answer.claims[0]!.devices[0]!.isPublished, false);
  assert.match(explainText(answer, now), /gone\/gpu-0: .*no slice publishes it any more/);
});

test("a pod shows the claim that the scheduler made for its extended resources", async () => {
  const extended = heldClaim("x", ["a/gpu-0"], ["x"]);
  const status = {
    phase: "Running",
    extendedResourceClaimStatus: { resourceClaimName: "x", requestMappings: [] },
  };
  const user = pod(
    "x",
    { containers: [{ name: "c", image: "c" }], nodeName: "a" },
    { uid: "uid-of-x" },
    { status },
  );
  const answer = await explained("pod/x", [node("a"), slice("a", 1), gpuClass, extended, user]);
  assert.deepEqual(
    answer.claims.map((each) => [each.claim, each.devices.length]),
    [["default/x", 1]],
  );
  const onNode = await explained("node/a", [node("a"), slice("a", 1), gpuClass, extended, user]);
  assert.deepEqual(onNode.facts.at(-1), { name: "pods with claims", value: "default/x" });
  const pending = await explained("claim/x", [node("a"), slice("a", 1), gpuClass, claim("x"), user]);
  assert.doesNotMatch(pending.summary, /no pod uses it/);
});

test("an unused claim shows the node where it fits", async () => {
  const idle = await explained("claim/free", [...objects, claim("free")]);
  assert.deepEqual([idle.state, idle.placement?.fits], ["pending", "b"]);
  assert.match(idle.summary, /no pod uses it/);
  const wanted = await explained("claim/wanted", objects);
  assert.deepEqual(
    wanted.waits.map((each) => each.for),
    ["devices"],
  );
});

test("an unknown name is an error that suggests similar ones", async () => {
  await assert.rejects(
    explained("pod/wait", objects),
    /no Pod "wait" in namespace default: .*did you mean waits\?/,
  );
  await assert.rejects(
    explained("device/gpu-9", objects),
    /no device "gpu-9": there are .*; did you mean gpu-0 or gpu-1/,
  );
  assert.throws(() => parseSubject("pdo", "x"), /pdo: must be one of pod, claim, .*did you mean pod\?/);
  assert.throws(() => parseSubject("pod", undefined), /which pod\? Give its name: dray explain pod NAME/);
});
