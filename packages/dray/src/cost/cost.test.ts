import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { encodeJSON, Quantity } from "@dray/api";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { Random, seedOr } from "@dray/testing/random";
import { allocatorOf, openNodes } from "../inventory/allocator.ts";
import { devicesOf, idOf, resultsOf } from "../inventory/devices.ts";
import { deviceClass, features, partitionedGpu, worldOf, worldOfText } from "../inventory/testing.ts";
import { type Schema, violations } from "../observe/json-schema.ts";
import { claim, gpuClass, type Manifest, node, slice, template } from "../plan/testing.ts";
import { plainFormat } from "../text/table.ts";
import { costKinds, costOf } from "./cost.ts";
import type { ClassCost, CostData } from "./data.ts";
import { costText } from "./print.ts";

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../schema/cost.json"), "utf8"),
) as Schema;

function cost(manifests: readonly Manifest[], cluster: readonly Manifest[] = []): CostData {
  const own = worldOf(manifests, costKinds);
  const all = cluster.length === 0 ? own : worldOf(cluster).overlaid(own.objects);
  const data = costOf({ manifests: own, cluster: all, features });
  assert.deepEqual(violations(schema, JSON.parse(JSON.stringify(data))), []);
  return data;
}

const devices = (classes: readonly ClassCost[] | undefined): Record<string, unknown> =>
  Object.fromEntries(
    (classes ?? []).map(({ class: name, devices: { least, most } }) => [
      name,
      least === most ? most : [least, most],
    ]),
  );

const container = { name: "main", image: "busybox" };
const usesTemplate = (name: string) => ({ name: "gpu", resourceClaimTemplateName: name });
const spec = (...resourceClaims: readonly object[]) => ({ containers: [container], resourceClaims });

const pod = (name: string, body: object): Manifest => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: body,
});

function workload(kind: "Deployment" | "DaemonSet" | "Job", more: object, body: object): Manifest {
  const labels = { app: kind };
  const selector = kind === "Job" ? {} : { selector: { matchLabels: labels } };
  const template = {
    metadata: { labels },
    spec: { ...(kind === "Job" && { restartPolicy: "Never" }), ...body },
  };
  return {
    apiVersion: kind === "Job" ? "batch/v1" : "apps/v1",
    kind,
    metadata: { name: "w" },
    spec: { ...more, ...selector, template },
  };
}

const claimOf = (name: string, requests: readonly object[]): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name },
  spec: { devices: { requests } },
});

test("a template costs for each pod that runs at the same time, a shared claim once", () => {
  const shared = { name: "shared", resourceClaimName: "shared" };
  const body = spec(usesTemplate("pair"), shared);
  const objects = [template("pair", { count: 2 }), claim("shared"), gpuClass];
  const { subjects, total } = cost([
    ...objects,
    workload("Deployment", { replicas: 3 }, body),
    workload("Job", { parallelism: 4, completions: 100 }, body),
    pod("p", spec(shared)),
  ]);
  assert.deepEqual(
    subjects.map(({ object, pods, classes }) => [object, pods, devices(classes)]),
    [
      ["Deployment default/w", 3, { gpu: 7 }],
      ["Job default/w", 4, { gpu: 9 }],
      ["Pod default/p", 1, { gpu: 1 }],
    ],
  );
  assert.deepEqual(devices(total?.classes), { gpu: 15 });
});

test("of alternatives one is held: each class has its least and its most", () => {
  const alternatives = [
    { name: "large", deviceClassName: "gpu", count: 1 },
    { name: "small", deviceClassName: "half", count: 2 },
    { name: "smaller", deviceClassName: "half", count: 4 },
  ];
  const { subjects } = cost([
    claimOf("c", [
      { name: "any", firstAvailable: alternatives },
      { name: "sure", exactly: { deviceClassName: "half" } },
    ]),
  ]);
  assert.deepEqual(devices(subjects[0]?.classes), { gpu: [0, 1], half: [1, 5] });
  assert.deepEqual(
    subjects[0]?.claims[0]?.requests.map((each) =>
      each.map(({ request, devices }) => [request, devices.most]),
    ),
    [
      [
        ["any/large", 1],
        ["any/small", 2],
        ["any/smaller", 4],
      ],
      [["sure", 1]],
    ],
  );
});

test("extended resources count like claims: init containers use what later ones have", () => {
  const gpus = (count: number) => ({ limits: { "example.com/gpu": count } });
  const extended = { ...gpuClass, spec: { extendedResourceName: "example.com/gpu" } };
  const body = {
    initContainers: [
      { ...container, name: "once", resources: gpus(3) },
      { ...container, name: "sidecar", restartPolicy: "Always", resources: gpus(1) },
    ],
    containers: [{ ...container, resources: gpus(1) }],
  };
  const { subjects } = cost([extended, workload("Deployment", { replicas: 2 }, body)]);
  assert.deepEqual(devices(subjects[0]?.classes), { gpu: 6 });
  assert.equal(subjects[0]?.quota["requests.example.com/gpu"], "6");
  assert.equal(subjects[0]?.quota["gpu.deviceclass.resource.k8s.io/devices"], "6");
  // A device plugin serves what no class names.
  const { subjects: without } = cost([pod("p", { containers: [{ ...container, resources: gpus(1) }] })]);
  assert.deepEqual(without[0]?.classes, []);
});

test("a DaemonSet costs once for each node that it runs on, or for a node", () => {
  const set = workload("DaemonSet", {}, spec(usesTemplate("one")));
  const alone = cost([template("one"), set]);
  assert.deepEqual([alone.subjects[0]?.pods, alone.subjects[0]?.perNode, alone.total], [1, true, null]);
  const onNodes = cost([template("one"), set], [node("a"), node("b"), node("c")]);
  assert.deepEqual(devices(onNodes.total?.classes), { gpu: 3 });
});

test("counts all devices of a node, and nothing for admin access", () => {
  const all = claim("all", { allocationMode: "All" });
  assert.deepEqual(devices(cost([all]).total?.classes), { gpu: [1, 32] });
  const cluster = [gpuClass, node("a"), slice("a", 3), node("b"), slice("b", 5), node("none")];
  assert.deepEqual(devices(cost([all], cluster).total?.classes), { gpu: [3, 5] });
  const namespace = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "default", labels: { "resource.kubernetes.io/admin-access": "true" } },
  };
  const { subjects } = cost([namespace, claim("admin", { adminAccess: true, count: 2 })], cluster);
  assert.deepEqual(devices(subjects[0]?.classes), { gpu: 0 });
});

test("capacity is what the devices' policies make of it; without devices what is asked", () => {
  const asks = claim("c", { count: 2, capacity: { requests: { bandwidth: "3G" } } });
  assert.deepEqual(cost([asks]).total?.classes[0]?.capacity, { bandwidth: { least: "6G", most: "6G" } });
  const nic = (name: string, step: string) => ({
    name,
    allowMultipleAllocations: true,
    capacity: {
      bandwidth: {
        value: "10G",
        requestPolicy: { default: "1G", validRange: { min: "1G", step } },
      },
    },
  });
  const cluster = [gpuClass, node("a"), slice("a", [nic("one", "1G"), nic("two", "4G")])];
  // 3G, or 5G: the next step from 1G on. Two shares of one device are as good as one of each.
  assert.deepEqual(cost([asks], cluster).total?.classes[0]?.capacity, {
    bandwidth: { least: "6G", most: "10G" },
  });
});

test("counters are those of the partitions that could be allocated", () => {
  const half = deviceClass("half", 'device.attributes["gpu.example.com"].kind == "half"');
  const cluster = [gpuClass, half, node("a"), ...partitionedGpu("a", "g0")];
  const counters = (deviceClassName: string) =>
    cost([claim("c", { deviceClassName })], cluster).total?.classes[0]?.counters;
  assert.deepEqual(counters("half"), { "gpu.example.com/memory": { least: "40Gi", most: "40Gi" } });
  assert.deepEqual(counters("gpu"), { "gpu.example.com/memory": { least: "40Gi", most: "80Gi" } });
});

test("keeps the digits of counts, and names missing objects", () => {
  const count = 2n ** 62n + 1n;
  const text = encodeJSON({ apiVersion: "v1", kind: "List", items: [claim("c", { count })] });
  const own = worldOfText(text);
  assert.equal(costOf({ manifests: own, cluster: own, features }).total?.classes[0]?.devices.most, count);
  const { subjects: lacking } = cost([pod("p", spec(usesTemplate("nowhere")))]);
  assert.match(lacking[0]?.missing[0] ?? "", /there is no ResourceClaimTemplate "nowhere"/);
});

test("a template that nothing uses is the cost of one claim, and no part of the total", () => {
  const { subjects, total } = cost([template("one", { count: 2 }), claim("c")]);
  assert.deepEqual(
    subjects.map(({ object, classes }) => [object, devices(classes)]),
    [
      ["ResourceClaimTemplate default/one", { gpu: 2 }],
      ["ResourceClaim default/c", { gpu: 1 }],
    ],
  );
  assert.deepEqual(devices(total?.classes), { gpu: 1 });
});

test("a CronJob costs what one run of its Job does", () => {
  const job = workload("Job", { parallelism: 3, completions: 9 }, spec(usesTemplate("one")));
  const cronJob = {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "nightly" },
    spec: { schedule: "0 3 * * *", jobTemplate: { spec: job["spec"] } },
  };
  const { subjects, total } = cost([
    template("one", { count: 2 }),
    cronJob,
    pod("p", spec(usesTemplate("one"))),
  ]);
  assert.deepEqual(
    subjects.map(({ object, pods, perRun, classes }) => [object, pods, perRun, devices(classes)]),
    [
      ["Pod default/p", 1, false, { gpu: 2 }],
      ["CronJob default/nightly", 3, true, { gpu: 6 }],
    ],
  );
  assert.deepEqual(devices(total?.classes), { gpu: 8 });
});

test("text: a row for each class, ranges where it depends", () => {
  const data = cost(
    [claimOf("c", [{ name: "g", firstAvailable: [{ name: "a", deviceClassName: "gpu", count: 2 }] }])],
    [gpuClass, node("a"), slice("a", 3)],
  );
  assert.equal(
    costText(data),
    [
      "OBJECT                    PODS   CLAIMS   CLASS   DEVICES   CAPACITY       COUNTERS",
      "ResourceClaim default/c   0      1        gpu     2         memory 160Gi   -",
      "",
    ].join("\n"),
  );
});

test("text: a narrow terminal does without columns that say nothing before words are broken", () => {
  const data = cost([template("large-gpu", { count: 2 }), claim("c")]);
  assert.equal(
    costText(data, { ...plainFormat, width: 66 }),
    [
      "OBJECT                   PODS  CLAIMS  CLASS  DEVICES  CAPACITY",
      "ResourceClaimTemplate    0     1       gpu    2        -",
      "default/large-gpu",
      "ResourceClaim default/c  0     1       gpu    1        -",
      "total                                  gpu    1        -",
      "(narrow terminal: without COUNTERS; -o wide has all columns)",
      "",
    ].join("\n"),
  );
});

/** The seed of the random clusters. */
const seed = seedOr(20261128);

test(`an allocation stays within the cost of its claim (seed ${seed})`, () => {
  const random = new Random(seed);
  let allocated = 0;
  for (let i = 0; i < 60; i++) {
    const cluster = randomCluster(random);
    const manifest = randomClaim(random);
    const world = worldOf([...cluster, manifest]);
    const object = world.find("ResourceClaim", "default/c")!;
    const held = costOf({ manifests: worldOf([manifest]), cluster: world, features }).total?.classes ?? [];
    const allocator = allocatorOf(world, features);
    for (const each of openNodes(world)) {
      const result = allocator.allocate(each, [object]);
      if (result.type !== "allocated") continue;
      allocated++;
      const claim = { ...object, status: { allocation: result.allocations[0] } } as ResourceClaim;
      assertWithin(claim, held, world, `case ${i}, node ${each.metadata.name}`);
    }
  }
  assert.ok(allocated > 30, `only ${allocated} claims were allocated`);
});

function assertWithin(
  claim: ResourceClaim,
  held: readonly ClassCost[],
  world: ReturnType<typeof worldOf>,
  message: string,
): void {
  const known = new Map(devicesOf(world, features).map((each) => [each.id, each.device]));
  const sums = new Map<string, Quantity>();
  const add = (key: string, amount: Quantity): void =>
    void sums.set(key, (sums.get(key) ?? zero).add(amount));
  for (const result of resultsOf(claim)) {
    const device = known.get(idOf(result))!;
    add("devices", Quantity.of(1));
    const whole = Object.entries(device.capacity ?? {}).map(([name, { value }]) => [name, value] as const);
    const consumed = result.shareID === undefined ? whole : Object.entries(result.consumedCapacity ?? {});
    for (const [name, value] of consumed) add(`capacity ${name}`, Quantity.parse(value));
    for (const { counters = {} } of device.consumesCounters ?? [])
      for (const [name, { value }] of Object.entries(counters))
        add(`counter ${result.driver}/${name}`, Quantity.parse(value));
  }
  for (const [key, amount] of sums) {
    const [least, most] = [0, 1].map((end) =>
      held.map((each) => rangeOf(each, key)[end]!).reduce((a, b) => a.add(b), zero),
    ) as [Quantity, Quantity];
    const text = `${message}: ${key} ${amount} is not within ${least} to ${most}`;
    assert.ok(least.compare(amount) <= 0 && amount.compare(most) <= 0, text);
  }
}

const zero = Quantity.of(0);

function rangeOf({ devices, capacity, counters }: ClassCost, key: string): [Quantity, Quantity] {
  const [what, name = ""] = key.split(" ");
  const range = what === "devices" ? devices : what === "capacity" ? capacity[name] : counters[name];
  return [Quantity.parse(String(range?.least ?? 0)), Quantity.parse(String(range?.most ?? 0))];
}

function randomCluster(random: Random): Manifest[] {
  const device = (i: number): object => {
    const isShared = random.chance(0.5);
    const step = random.int(1, 4);
    const validRange = { min: "1Gi", step: `${step}Gi` };
    const hasPolicy = isShared && random.chance(0.6);
    return {
      name: `d${i}`,
      attributes: { kind: { string: random.pick(["whole", "half"]) } },
      ...(isShared && { allowMultipleAllocations: true }),
      capacity: {
        memory: {
          value: `${1 + step * random.int(5, 20)}Gi`,
          ...(hasPolicy && { requestPolicy: { default: `${1 + step}Gi`, validRange } }),
        },
      },
    };
  };
  const nodes = ["a", "b"].flatMap((name) => [node(name), slice(name, random.list(1, 5, device))]);
  const half = deviceClass("half", 'device.attributes["gpu.example.com"].?kind.orValue("") == "half"');
  return [gpuClass, half, ...nodes, node("c"), ...partitionedGpu("c", "g0")];
}

function randomClaim(random: Random): Manifest {
  const body = (): object => ({
    deviceClassName: random.pick(["gpu", "half"]),
    ...(random.chance(0.2) ? { allocationMode: "All" } : { count: random.int(1, 2) }),
    ...(random.chance(0.5) && { capacity: { requests: { memory: `${random.int(1, 9)}Gi` } } }),
  });
  const request = (i: number): object => ({
    name: `r${i}`,
    ...(random.chance(0.5)
      ? { exactly: body() }
      : { firstAvailable: random.list(1, 3, (j) => ({ name: `s${j}`, ...body() })) }),
  });
  return claimOf("c", random.list(1, 2, request));
}
