import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { featuresOf, type KubernetesVersion, parseFeatureGates } from "@dray/api";
import type { Container, Pod, ResourceStatus } from "@dray/api/core/v1";
import { type Log, silentLog } from "@dray/client";
import { HealthStatus } from "@dray/rpc/drahealth/v1";
import { skipClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { partial } from "@dray/testing/partial";
import { podStatus } from "../status/pod-status.ts";
import type { TestCluster } from "../testing/cluster.ts";
import {
  allocated,
  draCluster,
  draNode,
  podWithClaims,
  type TestDraNode,
  type TestDraNodeOptions,
} from "../testing/dra.ts";
import { type TestDriver, testDriver } from "../testing/driver.ts";
import { HealthCache } from "./health.ts";

const name = "gpu.example.com";
const { HEALTHY, UNHEALTHY } = HealthStatus;
let cluster: TestCluster;
before(async () => {
  cluster = await draCluster();
});
after(() => cluster.close());

let nodes = 0;

interface Prepared {
  readonly node: TestDraNode;
  readonly driver: TestDriver;
  readonly pod: Pod;
  /** Pods of each `healthChanged`, in order. */
  readonly changes: (readonly string[])[];
  status(container?: Container): readonly ResourceStatus[];
  /** The health of the only device, with its message. */
  health(): string;
}

/** A driver with a health service, and a pod with a prepared claim. */
async function prepared(
  t: { after(end: () => Promise<void>): void },
  options: TestDraNodeOptions & { health?: readonly ("v1" | "v1alpha1")[]; versions?: string[] } = {},
): Promise<Prepared> {
  const { health = ["v1", "v1alpha1"], versions, ...more } = options;
  const id = `h${++nodes}`;
  const changes: (readonly string[])[] = [];
  const node = draNode(cluster, id, { healthChanged: (pods) => changes.push(pods), ...more });
  t.after(() => node.close());
  const info = versions === undefined ? {} : { supportedVersions: versions };
  const driver = await testDriver(node.root, name, { ...info, health });
  t.after(() => driver.close());
  await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
  const pod = await podWithClaims(cluster.admin, { node: id, name: id }, [
    { podClaim: "gpu", name: id, results: [allocated(name)] },
  ]);
  await node.manager.prepare(pod);
  const status = (container = pod.spec.containers[0]): readonly ResourceStatus[] =>
    container === undefined ? [] : node.manager.allocatedResourcesStatus(pod, container);
  return {
    node,
    driver,
    pod,
    changes,
    status,
    health() {
      const { health = "", message = "" } = status()[0]?.resources?.[0] ?? {};
      return message === "" ? health : `${health}: ${message}`;
    },
  };
}

for (const [services, used] of [
  [["v1", "v1alpha1"], "v1"],
  [["v1"], "v1"],
  [["v1alpha1"], "v1alpha1"],
] as const)
  test(`health of a driver that serves ${services.join(" and ")} reaches the container's status`, async (t) => {
    const { driver, pod, status, health, changes } = await prepared(t, { health: services });
    assert.equal(health(), "Unknown");
    driver.report([{ health: HEALTHY }]);
    await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
    assert.deepEqual(driver.streams, [used]);
    driver.report([{ health: UNHEALTHY, message: "too hot" }]);
    await eventuallyPasses(async () =>
      assert.deepEqual(status(), [
        {
          name: "claim:gpu",
          resources: [
            { resourceID: `test/gpu=${await claimUid(pod)}`, health: "Unhealthy", message: "too hot" },
          ],
        },
      ]),
    );
    driver.report([{ health: HEALTHY }]);
    await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
    assert.deepEqual(changes, [[pod.metadata.uid], [pod.metadata.uid], [pod.metadata.uid]]);
  });

async function claimUid({ metadata: { namespace, name } }: Pod): Promise<string> {
  const { ResourceClaim } = await import("@dray/api/resource/v1");
  return (await cluster.admin.resource(ResourceClaim).get({ namespace, name })).metadata.uid;
}

test("a device that is not reported within its timeout is Unknown, and its pod is reported", async (t) => {
  const clock = skipClock();
  const { driver, health, changes } = await prepared(t, { clock });
  for (const [seconds, timeout] of [
    [0, 30_000],
    [-5, 30_000],
    [300, 300_000],
  ] as const) {
    changes.length = 0;
    driver.report([{ health: HEALTHY, healthCheckTimeoutSeconds: seconds }]);
    await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
    clock.skip(timeout - 10_000);
    assert.equal(health(), "Healthy");
    clock.skip(20_000);
    assert.equal(health(), "Unknown");
    assert.equal(changes.length, 2);
  }
});

test("a device that is left out of a report keeps its health until its timeout", async (t) => {
  const clock = skipClock();
  const { node, driver, health } = await prepared(t, { clock });
  driver.report([{ health: HEALTHY }]);
  await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
  clock.skip(20_000);
  driver.report([{ device: { poolName: "pool", deviceName: "gpu-1" }, health: HEALTHY }]);
  const saved = join(node.root, "var/lib/kubelet/dra_health_state");
  await eventuallyPasses(async () => assert.match(readFileSync(saved, "utf8"), /"pool\/gpu-1"/));
  assert.equal(health(), "Healthy");
  clock.skip(11_000);
  assert.equal(health(), "Unknown");
});

test("the end of a stream clears what came over it; it is opened again after 5 s", async (t) => {
  const clock = skipClock();
  const { driver, health, changes } = await prepared(t, { clock });
  driver.report([{ health: HEALTHY }]);
  await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
  driver.endStreams();
  await eventuallyPasses(async () => assert.equal(health(), "Unknown"));
  assert.equal(changes.length, 2);
  assert.equal(driver.streams.length, 1);
  await eventuallyPasses(async () => {
    clock.skip(5000);
    assert.equal(driver.streams.length, 2);
  });
  await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
});

test("of two instances the newer one is believed, and the older one's end changes nothing", async (t) => {
  const { node, driver, health, changes } = await prepared(t);
  driver.report([{ health: HEALTHY }]);
  await eventuallyPasses(async () => assert.equal(health(), "Healthy"));
  const newer = await testDriver(node.root, name, { suffix: "-2", health: ["v1"] });
  t.after(() => newer.close());
  newer.report([{ health: UNHEALTHY }]);
  await eventuallyPasses(async () => assert.equal(health(), "Unhealthy"));
  driver.report([{ health: HEALTHY, message: "of the older one" }]);
  newer.report([{ health: UNHEALTHY, message: "of the newer one" }]);
  await eventuallyPasses(async () => assert.equal(health(), "Unhealthy: of the newer one"));
  changes.length = 0;
  await driver.close();
  newer.report([{ health: UNHEALTHY, message: "still" }]);
  await eventuallyPasses(async () => assert.equal(health(), "Unhealthy: still"));
  assert.equal(changes.length, 1, "never Unknown in between");
});

test("a driver without the service is asked once before 1.37, and never from then on", async (t) => {
  for (const [version, service, streams] of [
    ["1.36", "v1alpha1", ["v1alpha1"]],
    ["1.37", "v1alpha1", []],
  ] as const) {
    const { driver, node } = await prepared(t, {
      features: featuresOf(version),
      health: [service],
      versions: ["v1.DRAPlugin"],
    });
    driver.report([{ health: HEALTHY }]);
    if (streams.length > 0) await eventuallyPasses(async () => assert.deepEqual(driver.streams, streams));
    else assert.deepEqual(driver.streams, []);
    await node.close();
  }
  const lines: string[] = [];
  const note: Log["info"] = (_, message) => lines.push(message);
  const clock = skipClock();
  const log = { ...silentLog, info: note, warn: note, debug: note };
  const { node } = await prepared(t, { features: featuresOf("1.36"), health: [], clock, log });
  const unsupported = "the driver does not report the health of its devices";
  await eventuallyPasses(async () => assert.ok(lines.includes(unsupported)));
  for (let i = 0; i < 5; i++) {
    clock.skip(5000);
    await new Promise(setImmediate);
  }
  assert.equal(lines.filter((line) => line.includes("health")).length, 1);
  await node.close();
});

for (const [version, gates, wanted] of [
  ["1.34", "", ""],
  ["1.36", "ResourceHealthStatus=false,ResourceHealthStatusMessage=false", ""],
  ["1.35", "ResourceHealthStatus=true", "Unhealthy"],
  ["1.36", "ResourceHealthStatusMessage=false", "Unhealthy"],
  ["1.36", "", "Unhealthy: hot"],
] as const)
  test(`with ${version} and ${gates || "its gates"} the status has ${wanted || "no health"}`, async (t) => {
    const features = featuresOf(version as KubernetesVersion, parseFeatureGates(gates));
    const { driver, status, health } = await prepared(t, { features });
    driver.report([{ health: UNHEALTHY, message: "hot" }]);
    if (wanted === "") assert.deepEqual([status(), driver.streams], [[], []]);
    else await eventuallyPasses(async () => assert.equal(health(), wanted));
  });

test("a message is cut at 1024 bytes, in whole characters", async (t) => {
  const { driver, health } = await prepared(t);
  for (const [message, wanted] of [
    ["x".repeat(1024), "x".repeat(1024)],
    ["x".repeat(1025), `${"x".repeat(1021)}...`],
    ["é".repeat(600), `${"é".repeat(510)}...`],
  ] as const) {
    driver.report([{ health: UNHEALTHY, message }]);
    await eventuallyPasses(async () => assert.equal(health(), `Unhealthy: ${wanted}`));
  }
});

test("devices belong to the requests that a container lists; equal IDs are named once", async (t) => {
  const id = "requests";
  const node = draNode(cluster, id);
  t.after(() => node.close());
  const driver = await testDriver(node.root, name, { health: ["v1"] });
  t.after(() => driver.close());
  await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
  const device = (deviceName: string, requestNames: string[], cdiDeviceIds: string[]): object => ({
    poolName: "pool",
    deviceName,
    requestNames,
    cdiDeviceIds,
  });
  driver.devices = [
    device("a", ["one"], ["v/c=a", "v/c=more"]),
    device("b", ["two"], []),
    device("c", [], ["v/c=a"]),
    device("d", ["two/large"], ["v/c=d"]),
  ];
  const pod = await podWithClaims(
    cluster.admin,
    { node: id, name: id },
    [
      {
        podClaim: "gpus",
        name: id,
        requests: ["one", "two"],
        results: [{ ...allocated(name), request: "one" }],
      },
    ],
    {
      containers: [
        { name: "all", resources: { claims: [{ name: "gpus" }] } },
        { name: "one", resources: { claims: [{ name: "gpus", request: "one" }] } },
        { name: "two", resources: { claims: [{ name: "gpus", request: "two" }] } },
        { name: "none" },
      ],
    },
  );
  await node.manager.prepare(pod);
  const ids = (container: string): unknown =>
    pod.spec.containers
      .filter((spec) => spec.name === container)
      .flatMap((spec) => node.manager.allocatedResourcesStatus(pod, spec))
      .map((status) => [status.name, ...(status.resources ?? []).map(({ resourceID }) => resourceID)]);
  assert.deepEqual(ids("all"), [["claim:gpus", "v/c=a", `${name}/pool/b`, "v/c=d"]]);
  assert.deepEqual(ids("one"), [["claim:gpus/one", "v/c=a"]]);
  assert.deepEqual(ids("two"), [["claim:gpus/two", `${name}/pool/b`, "v/c=a", "v/c=d"]]);
  assert.deepEqual(ids("none"), []);
  await node.manager.unprepare(pod.metadata.uid);
  assert.deepEqual(ids("all"), []);
});

test("the health is saved as the kubelet saves it, and read again", async (t) => {
  const { node, driver, pod, health } = await prepared(t);
  driver.report([{ health: UNHEALTHY, message: "hot", healthCheckTimeoutSeconds: 60 }]);
  await eventuallyPasses(async () => assert.equal(health(), "Unhealthy: hot"));
  const path = join(node.root, "var/lib/kubelet/dra_health_state");
  await eventuallyPasses(async () => assert.ok(existsSync(path)));
  const saved = JSON.parse(readFileSync(path, "utf8"));
  const updated = saved[name].Devices["pool/gpu-0"].LastUpdated;
  assert.ok(Math.abs(Date.parse(updated) - Date.now()) < 60_000);
  assert.deepEqual(saved, {
    [name]: {
      Devices: {
        "pool/gpu-0": {
          PoolName: "pool",
          DeviceName: "gpu-0",
          Health: "Unhealthy",
          LastUpdated: updated,
          HealthCheckTimeout: 60_000_000_000,
          Message: "hot",
        },
      },
    },
  });
  // A killed agent leaves the file; since the end of the agent clears it, it is written again.
  await node.close();
  writeFileSync(path, JSON.stringify(saved));
  const later = draNode(cluster, pod.metadata.name);
  t.after(() => later.close());
  const [main] = pod.spec.containers;
  assert.ok(main !== undefined);
  assert.equal(later.manager.allocatedResourcesStatus(pod, main)[0]?.resources?.[0]?.health, "Unhealthy");
});

test("a driver that makes up devices, or floods, fills neither memory nor disk", async () => {
  const folder = mkdtempSync("/tmp/dk-");
  const path = join(folder, "dra_health_state");
  const clock = skipClock();
  const changed: number[] = [];
  const cache = new HealthCache({
    path,
    clock,
    log: silentLog,
    changed: (_, devices) => changed.push(devices.length),
  });
  const report = (deviceName: string, poolName = "pool") => ({
    device: { poolName, deviceName },
    health: HEALTHY,
    lastUpdatedTime: 0,
    healthCheckTimeoutSeconds: 0,
    message: "",
  });
  const many = (prefix: string) => Array.from({ length: 10_000 }, (_, i) => report(`${prefix}-${i}`));
  cache.report("d", {}, many("a"));
  cache.report("d", {}, many("b"));
  cache.report("d", {}, [
    report("x".repeat(10_000)),
    report("a/b"),
    report(""),
    { ...report("y"), device: undefined },
  ]);
  assert.deepEqual(changed, [10_000, 6384]);
  clock.skip(31_000);
  cache.report("d", {}, [report("c-0")]);
  assert.equal(cache.get("d", { pool: "pool", device: "c-0" }).health, "Healthy");
  assert.deepEqual(changed, [10_000, 6384, 16_384, 1]);
  for (const source = {}; changed.length < 1000; )
    cache.report("d", source, [{ ...report("c-0"), message: String(changed.length) }]);
  await cache.close();
  assert.match(readFileSync(path, "utf8"), /"Message":"999"/);
  rmSync(folder, { recursive: true });
});

test("the status of a container has the health of its devices, and keeps it after the pod's end", () => {
  const health: ResourceStatus[] = [
    { name: "claim:gpu", resources: [{ resourceID: "v/c=a", health: "Unhealthy" }] },
  ];
  const pod = partial<Pod>({
    metadata: { namespace: "default", name: "p", uid: "u" },
    spec: { initContainers: [{ name: "init" }], containers: [{ name: "main" }, { name: "side" }] },
    status: { containerStatuses: [{ name: "main", allocatedResourcesStatus: health }] },
  });
  const input = {
    pod,
    now: 0,
    recursiveReadOnly: false,
    runtimeName: "host",
    nodeAddress: "127.0.0.1",
    podIP: undefined,
    sandboxReady: true,
    containers: new Map(),
    waiting: new Map(),
    started: () => false,
    ready: () => false,
    allocatedResources: () => [],
    restarting: false,
    nextAttempts: new Map(),
    failure: undefined,
    ending: false,
    ended: false,
  };
  const statuses = (more: object): unknown => {
    const { containerStatuses, initContainerStatuses } = podStatus({ ...input, ...more });
    return [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].map(
      ({ allocatedResourcesStatus }) => allocatedResourcesStatus,
    );
  };
  const now: ResourceStatus[] = [
    { name: "claim:gpu", resources: [{ resourceID: "v/c=a", health: "Healthy" }] },
  ];
  const allocatedResources = ({ name: container }: Container) => (container === "side" ? [] : now);
  assert.deepEqual(statuses({ allocatedResources }), [undefined, now, undefined]);
  assert.deepEqual(statuses({ ended: true }), [undefined, health, undefined]);
});
