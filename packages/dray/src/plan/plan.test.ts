import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { dray } from "../testing/program.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  type PlanData,
  plain,
  planFile,
  planned,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

const examples = join(import.meta.dirname, "../../../../examples/plan");

test("the example: a table, why pods do not fit, and exit code 1", async () => {
  const { code, stdout, stderr } = await dray(["plan", "-f", examples]);
  assert.equal(stderr, "");
  assert.equal(code, 1);
  assert.match(stdout, /^POD +STATUS +NODE +DEVICES\n/);
  assert.match(stdout, /\ndefault\/inference +fits +node-1 +gpu.example.com\/node-1\/gpu-0\n/);
  assert.match(stdout, /\ndefault\/worker-2 +does not fit +- +-\n/);
  assert.match(
    stdout,
    /\ndefault\/worker-1, default\/worker-2: 0\/2 nodes are available: 2 cannot allocate all claims\.\n/,
  );
  assert.match(stdout, /\n4 pods on 2 nodes: 2 fit, 2 do not fit\n$/);
});

test("json and yaml have the same data, and an allocation exactly as a claim's status has it", async () => {
  const objects = [
    node("n1"),
    slice("n1", 2),
    gpuClass,
    claim("c", { count: 2 }),
    pod("p", usesClaim("c")),
    pod("too-big", plain({}, { requests: { cpu: "9" } })),
  ];
  const [json, yaml] = await Promise.all([planned(objects), planFile(objects, "-o", "yaml")]);
  assert.deepEqual(parse(yaml.stdout), json.data);
  const [fits, refused] = json.data.pods;
  assert.deepEqual(fits, {
    namespace: "default",
    name: "p",
    status: "fits",
    node: "n1",
    claims: [{ name: "c", podClaim: "gpu", allocation: allocation("n1", "gpu-0", "gpu-1") }],
    claimResources: {},
    reason: null,
    hints: [],
    explanation: null,
  });
  assert.deepEqual(refused, {
    namespace: "default",
    name: "too-big",
    status: "does not fit",
    node: null,
    claims: [],
    claimResources: {},
    reason: "0/1 nodes are available: 1 Insufficient cpu.",
    hints: [],
    explanation: {
      nodes: 1,
      refusals: [{ plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"], count: 1, nodes: ["n1"] }],
    },
  });
  assert.deepEqual(json.data.summary, {
    nodes: 1,
    pods: 2,
    running: 0,
    bound: 0,
    placed: 1,
    unplaced: 1,
    pending: 0,
    refused: 0,
    kubernetesVersion: "1.37",
    warnings: [],
    errors: [],
    leftOut: 0,
  });
});

test("of equally good nodes the first by name is taken, the emptier one before it", async () => {
  const { nodes, code } = await planned([
    node("b"),
    node("a"),
    pod("first", plain({}, { requests: { cpu: "1", memory: "4Gi" } })),
    pod("second", plain({}, { requests: { cpu: "1", memory: "4Gi" } })),
    pod("third", plain({}, { requests: { cpu: "1", memory: "4Gi" } })),
  ]);
  assert.deepEqual(nodes, { first: "a", second: "b", third: "a" });
  assert.equal(code, 0);
});

test("pods come by priority, then in the order of the files; default and system classes count", async () => {
  const priority = (name: string, value: number, more: object = {}): Record<string, unknown> => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value,
    ...more,
  });
  const { devices } = await planned([
    node("n"),
    slice("n", 4),
    gpuClass,
    template("t"),
    priority("low", -5),
    priority("usual", 7, { globalDefault: true }),
    pod("low", usesTemplate("t", { priorityClassName: "low" })),
    pod("usual-1", usesTemplate("t")),
    pod("usual-2", usesTemplate("t")),
    pod("critical", usesTemplate("t", { priorityClassName: "system-node-critical" })),
  ]);
  assert.deepEqual(devices, {
    low: ["n/gpu-3"],
    "usual-1": ["n/gpu-1"],
    "usual-2": ["n/gpu-2"],
    critical: ["n/gpu-0"],
  });
});

test("a running pod keeps its node and its devices; an ended one keeps neither", async () => {
  const running = pod("running", {
    ...usesClaim("taken"),
    nodeName: "n",
    containers: [{ name: "c", image: "i", resources: { requests: { cpu: "7" }, claims: [{ name: "gpu" }] } }],
  });
  const ended = pod(
    "ended",
    plain({ nodeName: "n" }, { requests: { cpu: "7" } }),
    {},
    {
      status: { phase: "Succeeded" },
    },
  );
  const { nodes, devices, data } = await planned([
    node("n"),
    slice("n", 2),
    gpuClass,
    claim("taken", {}, { status: { allocation: allocation("n", "gpu-0") } }),
    running,
    ended,
    claim("open"),
    pod("new", usesClaim("open")),
    pod("no-room", plain({}, { requests: { cpu: "2" } })),
  ]);
  assert.deepEqual(nodes, { running: "n", new: "n", "no-room": null });
  assert.deepEqual(devices, { running: ["n/gpu-0"], new: ["n/gpu-1"], "no-room": [] });
  assert.equal(data.summary.running, 1);
});

test("pods that share a claim share its node and its devices; an allocated claim draws its pod", async () => {
  const { nodes, devices } = await planned([
    node("a"),
    node("b"),
    slice("a", 1),
    slice("b", 1),
    gpuClass,
    claim("shared"),
    pod("one", usesClaim("shared")),
    pod("other", usesClaim("shared")),
    claim("on-b", {}, { status: { allocation: allocation("b", "gpu-0") } }),
    pod("drawn", usesClaim("on-b")),
  ]);
  assert.deepEqual(nodes, { one: "a", other: "a", drawn: "b" });
  assert.deepEqual(devices, { one: ["a/gpu-0"], other: ["a/gpu-0"], drawn: ["b/gpu-0"] });
});

test("an idle allocation on an infeasible node is given up, as by the scheduler", async () => {
  const idle = { status: { allocation: allocation("a", "gpu-0") } };
  const { devices } = await planned([
    node("a", { spec: { unschedulable: true } }),
    node("b"),
    slice("a", 1),
    slice("b", 1),
    gpuClass,
    claim("c", {}, idle),
    pod("p", usesClaim("c")),
  ]);
  assert.deepEqual(devices, { p: ["b/gpu-0"] });
});

test("every version of the API that was served is read", async () => {
  const { devices } = await planned([
    node("n"),
    {
      apiVersion: "resource.k8s.io/v1beta1",
      kind: "ResourceSlice",
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n",
        pool: { name: "n", generation: 1, resourceSliceCount: 1 },
        devices: [{ name: "gpu-0", basic: { attributes: { model: { string: "a100" } } } }],
      },
    },
    { ...gpuClass, apiVersion: "resource.k8s.io/v1beta2" },
    {
      apiVersion: "resource.k8s.io/v1beta1",
      kind: "ResourceClaim",
      metadata: { name: "c" },
      spec: { devices: { requests: [{ name: "gpu", deviceClassName: "gpu" }] } },
    },
    pod("p", usesClaim("c")),
  ]);
  assert.deepEqual(devices, { p: ["n/gpu-0"] });
});

test("device taints keep pods off, and rules set them only where their gate is on", async () => {
  const rule = {
    apiVersion: "resource.k8s.io/v1beta2",
    kind: "DeviceTaintRule",
    metadata: { name: "r" },
    spec: { deviceSelector: { driver: "gpu.example.com" }, taint: { key: "broken", effect: "NoSchedule" } },
  };
  const objects = [node("n"), slice("n", 1), gpuClass, rule, claim("c"), pod("p", usesClaim("c"))];
  const [on, off] = await Promise.all([
    planned(objects),
    planned(objects, "--feature-gates", "DRADeviceTaintRules=false"),
  ]);
  assert.deepEqual([on.nodes, off.nodes], [{ p: null }, { p: "n" }]);
});

test("fields that the release lacks are ignored", async () => {
  const objects = [
    node("n"),
    slice("n", [{ name: "gpu-0", bindingConditions: ["ready"], bindingFailureConditions: ["failed"] }]),
    gpuClass,
    claim("c"),
    pod("p", usesClaim("c")),
  ];
  const [newest, old] = await Promise.all([
    planned(objects),
    planned(objects, "--kubernetes-version", "1.34"),
  ]);
  const results = (data: PlanData): unknown => data.pods[0]?.claims[0]?.allocation;
  assert.match(JSON.stringify(results(newest.data)), /"bindingConditions":\["ready"\]/);
  assert.doesNotMatch(JSON.stringify(results(old.data)), /bindingConditions/);
});

test("devices serve extended resources, where the release has that", async () => {
  const asking = (name: string): Manifest =>
    pod(name, {
      containers: [
        { name: "c", image: "i", resources: { limits: { "deviceclass.resource.kubernetes.io/gpu": "1" } } },
      ],
    });
  const objects = [node("n"), slice("n", 1), gpuClass, asking("a"), asking("b")];
  const [newest, old] = await Promise.all([
    planned(objects),
    planned(objects, "--kubernetes-version", "1.35"),
  ]);
  assert.deepEqual(
    [newest.nodes, old.nodes],
    [
      { a: "n", b: null },
      { a: null, b: null },
    ],
  );
  assert.deepEqual(newest.data.summary.warnings, []);
  const reason = newest.data.pods.find(({ node }) => node === null)?.explanation;
  assert.match(JSON.stringify(reason), /"deviceClass":"gpu","wanted":1,"seen":1,.*"check":"in-use"/);
  assert.match(old.data.summary.warnings[0] ?? "", /serves only with the feature gate DRAExtendedResource/);
});

test("admin access needs the label of its namespace", async () => {
  const inSpace = (object: Record<string, unknown>): Record<string, unknown> => ({
    ...object,
    metadata: { ...(object["metadata"] as object), namespace: "tools" },
  });
  const namespace = (labels: object): Record<string, unknown> => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "tools", labels },
  });
  const objects = [
    node("n"),
    slice("n", 1),
    gpuClass,
    inSpace(claim("c", { adminAccess: true })),
    inSpace(pod("p", usesClaim("c"))),
  ];
  const [may, mayNot] = await Promise.all([
    planned([namespace({ "resource.kubernetes.io/admin-access": "true" }), ...objects]),
    planFile([namespace({}), ...objects]),
  ]);
  assert.deepEqual(may.devices, { p: ["n/gpu-0"] });
  assert.equal(mayNot.code, 1);
  assert.match(
    mayNot.stderr,
    /item 5: ResourceClaim tools\/c: .*adminAccess: Forbidden: admin access to devices requires/,
  );
  // The claim is left out, and its pod waits for it.
  assert.match(mayNot.stdout, /\ntools\/p +pending +- +-\n/);
});

test("scheduling gates hold a pod back; a missing class has the message of the scheduler", async () => {
  const { data, code } = await planned([
    node("n"),
    pod("gated", plain({ schedulingGates: [{ name: "example.com/wait" }] })),
    claim("c"),
    pod("no-class", usesClaim("c")),
  ]);
  assert.equal(code, 1);
  assert.deepEqual(
    data.pods.map(({ node, reason }) => [node, reason]),
    [
      [null, "waiting for scheduling gates: [example.com/wait]"],
      [null, "0/1 nodes are available: request gpu: device class gpu does not exist."],
    ],
  );
});
