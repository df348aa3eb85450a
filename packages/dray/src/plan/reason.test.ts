import assert from "node:assert/strict";
import { test } from "node:test";
import {
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  planFile,
  planned,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

/** A claim and its only pod, both with that name. */
const pair = (name: string, exactly: object, devices: object = {}): Manifest[] => [
  {
    ...claim(name),
    spec: {
      devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...exactly } }], ...devices },
    },
  },
  pod(name, usesClaim(name)),
];
const selecting = (expression: string): object => ({ selectors: [{ cel: { expression } }] });

const cluster = [
  node("n1", { allocatable: { cpu: "1" } }),
  node("n2", { allocatable: { cpu: "2" } }),
  slice("n1", [
    { name: "a", attributes: { model: { string: "a100" } }, capacity: { memory: { value: "40Gi" } } },
    { name: "b", attributes: { model: { string: "l4" } }, capacity: { memory: { value: "24Gi" } } },
  ]),
  slice("n2", [
    {
      name: "a",
      attributes: { model: { string: "a100" } },
      taints: [{ key: "broken", effect: "NoSchedule" }],
    },
  ]),
  gpuClass,
];

test("the lines under a pod that does not fit say which check ruled out how many devices where", async () => {
  const { stdout } = await planFile([
    ...cluster,
    ...pair("holder", selecting('device.attributes["gpu.example.com"].model == "l4"')),
    ...pair("unlike", { count: 2 }, { constraints: [{ matchAttribute: "gpu.example.com/model" }] }),
    ...pair("h100", selecting('device.attributes["gpu.example.com"].model == "h100"')),
    pod("big", plain({}, { requests: { cpu: "3" } })),
  ]);
  const of = (name: string): string =>
    stdout.slice(stdout.indexOf(`\ndefault/${name}: `)).split("\n\n")[0] ?? "";
  assert.equal(
    of("h100"),
    `
default/h100: 0/2 nodes are available: 2 cannot allocate all claims.
  2 nodes (n1, n2) [DynamicResources]
      claim default/h100, request gpu: wants 1 device of class gpu; the nodes can reach 3 devices, none of them is suitable
          2 on 2 nodes: ruled out by a selector of the request: device.attributes["gpu.example.com"].model == "h100" [gpu.example.com/model = a100] (gpu.example.com/n1/a, gpu.example.com/n2/a)
          1 on 1 node: ruled out by a selector of the request: device.attributes["gpu.example.com"].model == "h100" [gpu.example.com/model = l4] (gpu.example.com/n1/b)`,
  );
  // A device in use for one claim is of the wrong kind for another.
  assert.match(
    of("unlike"),
    /1 on 1 node: in use: allocated to claim default\/holder \(gpu.example.com\/n1\/b\)/,
  );
  assert.match(
    of("unlike"),
    /1 on 1 node: tainted: broken:NoSchedule is not tolerated \(gpu.example.com\/n2\/a\)/,
  );
  assert.match(of("unlike"), /2 nodes \(n1, n2\)/);
  assert.match(
    of("unlike"),
    /wants 2 devices of class gpu; the nodes can reach 3 devices, 1 of them is suitable, at most 1 on one node\n/,
  );
  assert.equal(of("big"), "\ndefault/big: 0/2 nodes are available: 2 Insufficient cpu.");
});

test("the explanation holds the same as data, added up over the nodes", async () => {
  const { data } = await planned([...cluster, ...pair("h100", selecting('device.driver == "other"'))]);
  const explanation = data.pods[0]?.explanation as {
    refusals: { claims: { claim: string; requests: { refused: object[] }[] }[] }[];
  };
  const [claimOf] = explanation.refusals[0]?.claims ?? [];
  const { refused, ...request } = claimOf!.requests[0]!;
  assert.equal(claimOf!.claim, "default/h100");
  assert.deepEqual(request, {
    request: "gpu",
    deviceClass: "gpu",
    wanted: 1,
    seen: 3,
    suitable: 0,
    mostOnOneNode: 0,
  });
  assert.equal(refused.length, 1);
  const { cause: _, ...group } = refused[0] as Record<string, unknown>;
  assert.deepEqual(group, {
    check: "request-selector",
    selector: {
      of: "request",
      expression: 'device.driver == "other"',
      values: { driver: "gpu.example.com" },
    },
    count: 3,
    devices: ["gpu.example.com/n1/a", "gpu.example.com/n1/b", "gpu.example.com/n2/a"],
    nodes: 2,
  });
});

test("replicas that fail alike have one explanation", async () => {
  const { stdout } = await planFile([
    node("n"),
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "r" },
      spec: {
        replicas: 6,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: plain({}, { requests: { cpu: "5" } }) },
      },
    },
  ]);
  const lines = stdout.split("\n").filter((line) => line.includes("nodes are available"));
  assert.deepEqual(lines, [
    "default/r-1, default/r-2, default/r-3 and 2 more: 0/1 nodes are available: 1 Insufficient cpu.",
  ]);
});

test("the explanation of each replica names its own claim", async () => {
  const { data } = await planned([
    ...cluster,
    template("t", { count: 3 }),
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "r" },
      spec: {
        replicas: 3,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: usesTemplate("t") },
      },
    },
  ]);
  const reasons = data.pods.map(({ explanation }) => {
    const { refusals } = explanation as { refusals: { claims: { claim: string; requests: object[] }[] }[] };
    return refusals[0]!.claims[0]!;
  });
  assert.deepEqual(
    reasons.map(({ claim }) => claim),
    ["default/r-0-gpu", "default/r-1-gpu", "default/r-2-gpu"],
  );
  assert.deepEqual(reasons[1]?.requests, reasons[0]?.requests);
});

test("a selector that fails on a device fails the attempt, with one line for all replicas", async () => {
  const { stdout } = await planFile([
    ...cluster,
    template("t", selecting('device.attributes["gpu.example.com"].vendor == "x"')),
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "s" },
      spec: {
        serviceName: "s",
        replicas: 2,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: usesTemplate("t") },
      },
    },
  ]);
  assert.match(
    stdout,
    /\ndefault\/s-0, default\/s-1: claim default\/s-0-gpu: selector #0 on device gpu.example.com\/n1\/a: CEL runtime error: no such key: vendor/,
  );
  assert.match(stdout, /in error: .* \[gpu.example.com\/vendor is missing\]/);
});

test("a device that several nodes reach is named once", async () => {
  const shared = slice("n1", [{ name: "one" }], { name: "net" }, "net");
  const { nodeName: _, ...spec } = shared["spec"] as Record<string, unknown>;
  const { stdout } = await planFile([
    node("n1"),
    node("n2"),
    { ...shared, spec: { ...spec, allNodes: true } },
    gpuClass,
    ...pair("first", {}),
    ...pair("second", {}),
  ]);
  assert.match(
    stdout,
    /2 on 2 nodes: in use: allocated to claim default\/first \(gpu.example.com\/net\/one\)\n/,
  );
});

test("a selector that reads another value of each device has one line for all, and causes are few", async () => {
  const many = Array.from({ length: 60 }, (_, i) => ({
    name: `d-${i}`,
    attributes: { uuid: { string: `u-${i}` } },
    taints: [{ key: `key-${i}`, effect: "NoSchedule" }],
  }));
  const { stdout } = await planFile([
    node("n"),
    slice("n", many),
    gpuClass,
    ...pair("one", selecting('device.attributes["gpu.example.com"].uuid == "x"')),
    ...pair("any", {}),
  ]);
  assert.match(
    stdout,
    /\n {10}60 devices: ruled out by a selector of the request: .*uuid == "x" \[gpu.example.com\/uuid = u-0, u-1, u-2 and 57 more\]\n/,
  );
  assert.equal(stdout.match(/: tainted: key-/g)?.length, 12);
  assert.match(stdout, /\n {10}and 48 more causes\n/);
});
