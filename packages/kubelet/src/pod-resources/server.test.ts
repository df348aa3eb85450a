import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Container, Pod } from "@dray/api/core/v1";
import { type Clock, silentLog, systemClock } from "@dray/client";
import { type Caller, unixChannel } from "@dray/rpc";
import { PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { partial } from "@dray/testing/partial";
import type { TestCluster } from "../testing/cluster.ts";
import { allocated, draCluster, draNode, podWithClaims } from "../testing/dra.ts";
import { testDriver } from "../testing/driver.ts";
import { type PluginDeviceSource, type PodResourcesOptions, PodResourcesServer } from "./server.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await draCluster();
});
after(() => cluster.close());

interface Served {
  readonly caller: Caller<typeof PodResourcesListerDefinition>;
  readonly directory: string;
  readonly server: PodResourcesServer;
}

async function serve(
  t: { after(end: () => Promise<void>): void },
  options: Partial<PodResourcesOptions>,
): Promise<Served> {
  const directory = join(mkdtempSync("/tmp/dk-"), "kubelet/pod-resources");
  const server = new PodResourcesServer({
    directory,
    pods: () => [],
    claims: { dynamicResources: () => [] },
    clock: systemClock,
    log: silentLog,
    ...options,
  });
  await server.start();
  const channel = unixChannel(join(directory, "kubelet.sock"), { maxReceiveBytes: 16 << 20 });
  t.after(async () => {
    channel.close();
    await server.close();
    rmSync(join(directory, "../.."), { recursive: true });
  });
  return { caller: channel.caller(PodResourcesListerDefinition), directory, server };
}

const podOf = (name: string, containers: Partial<Container>[], more: object = {}): Pod =>
  partial<Pod>({
    metadata: { namespace: "default", name, uid: `${name}-uid` },
    spec: { containers, ...more },
  });

const bare = { devices: [], cpuIds: [], memory: [], dynamicResources: [] };
const podBare = { namespace: "default", cpuIds: [], memory: [] };

test("the devices of claims are listed whole for each container that uses one, with share IDs", async (t) => {
  const name = "gpu.example.com";
  const node = draNode(cluster, "n1");
  t.after(() => node.close());
  const driver = await testDriver(node.root, name);
  t.after(() => driver.close());
  await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
  const device = (deviceName: string, request: string, ids: string[], shareId?: string): object => ({
    poolName: "pool",
    deviceName,
    requestNames: [request],
    cdiDeviceIds: ids,
    shareId,
  });
  driver.devices = [device("gpu-0", "a", ["v/c=0", "v/c=common"], "share"), device("gpu-1", "b", ["v/c=1"])];
  const pod = await podWithClaims(
    cluster.admin,
    { node: "n1", name: "p1" },
    [{ podClaim: "gpus", name: "c1", requests: ["a", "b"], results: [{ ...allocated(name), request: "a" }] }],
    {
      containers: [
        { name: "one", resources: { claims: [{ name: "gpus", request: "a" }] } },
        { name: "two", resources: { claims: [{ name: "gpus" }] } },
        { name: "none" },
      ],
    },
  );
  const { caller } = await serve(t, { pods: () => [pod], claims: node.manager });
  const unprepared = await caller.list({});
  assert.deepEqual(
    unprepared.podResources[0]?.containers.map(({ dynamicResources }) => dynamicResources),
    [[], [], []],
  );
  await node.manager.prepare(pod);
  const claim = {
    claimName: "c1",
    claimNamespace: "default",
    claimResources: [
      {
        cdiDevices: [{ name: "v/c=0" }, { name: "v/c=common" }],
        driverName: name,
        poolName: "pool",
        deviceName: "gpu-0",
        shareId: "share",
      },
      {
        cdiDevices: [{ name: "v/c=1" }],
        driverName: name,
        poolName: "pool",
        deviceName: "gpu-1",
        shareId: undefined,
      },
    ],
  };
  const wanted = {
    ...podBare,
    name: "p1",
    containers: [
      { ...bare, name: "one", dynamicResources: [claim] },
      { ...bare, name: "two", dynamicResources: [claim] },
      { ...bare, name: "none" },
    ],
  };
  assert.deepEqual((await caller.list({})).podResources, [wanted]);
  assert.deepEqual((await caller.get({ podName: "p1", podNamespace: "default" })).podResources, wanted);
});

const devices: PluginDeviceSource = {
  devices: (uid, container) =>
    uid === "p-uid" && container === "main"
      ? [
          { resource: "example.com/gpu", id: "a", numaNode: 0 },
          { resource: "example.com/gpu", id: "b", numaNode: 1 },
        ]
      : [],
  allocatable: () => [
    { resource: "example.com/gpu", id: "a", numaNode: 0 },
    { resource: "example.com/nic", id: "n", numaNode: undefined },
  ],
};

test("devices of plugins are listed with their NUMA nodes, for sidecars too and not for init containers", async (t) => {
  const pod = podOf("p", [{ name: "main" }], {
    initContainers: [{ name: "init" }, { name: "sidecar", restartPolicy: "Always" }],
  });
  const { caller } = await serve(t, { pods: () => [pod], devices });
  const { podResources } = await caller.list({});
  assert.deepEqual(podResources, [
    {
      ...podBare,
      name: "p",
      containers: [
        { ...bare, name: "sidecar" },
        {
          ...bare,
          name: "main",
          devices: [
            { resourceName: "example.com/gpu", deviceIds: ["a"], topology: { nodes: [{ ID: 0 }] } },
            { resourceName: "example.com/gpu", deviceIds: ["b"], topology: { nodes: [{ ID: 1 }] } },
          ],
        },
      ],
    },
  ]);
  assert.deepEqual(await caller.getAllocatableResources({}), {
    devices: [
      { resourceName: "example.com/gpu", deviceIds: ["a"], topology: { nodes: [{ ID: 0 }] } },
      { resourceName: "example.com/nic", deviceIds: ["n"], topology: undefined },
    ],
    cpuIds: [],
    memory: [],
  });
});

test("a pod that is not active is an error, and is counted", async (t) => {
  const { caller, server } = await serve(t, { pods: () => [podOf("p", [])] });
  for (const [podName, podNamespace] of [
    ["q", "default"],
    ["p", "other"],
    ["", ""],
  ] as const)
    await assert.rejects(caller.get({ podName, podNamespace }), {
      code: "Unknown",
      detail: `pod ${podName} in namespace ${podNamespace} not found`,
    });
  await caller.list({});
  const metrics = server.metrics();
  for (const line of ["requests_total 4", "requests_get 3", "requests_list 1", "errors_get 3"]) {
    const [name, value] = line.split(" ");
    assert.ok(
      metrics.includes(`\nkubelet_pod_resources_endpoint_${name}{server_api_version="v1"} ${value}\n`),
      metrics,
    );
  }
});

test("100 requests a second are answered, 10 at once; those that are refused do not count", async (t) => {
  let now = 0;
  const clock: Clock = { now: () => now, after: () => () => {} };
  const { caller } = await serve(t, { clock });
  const answered = async (count: number): Promise<number> => {
    let good = 0;
    for (let i = 0; i < count; i++)
      await caller.list({}).then(
        () => good++,
        (error) =>
          assert.deepEqual([error.code, error.detail], ["ResourceExhausted", "rejected by rate limit"]),
      );
    return good;
  };
  assert.equal(await answered(15), 10);
  now += 30;
  assert.equal(await answered(5), 3);
  now += 60_000;
  assert.equal(await answered(15), 10);
});

test("a response has at most 16 MiB; a larger one is an error of its request alone", async (t) => {
  const pods: Pod[] = [];
  const clock: Clock = { now: () => 0, after: () => () => {} };
  const { caller } = await serve(t, { pods: () => pods, clock });
  for (let i = 0; i < 1500; i++) pods.push(podOf("x".repeat(10_000), []));
  assert.equal((await caller.list({})).podResources.length, 1500);
  for (let i = 0; i < 500; i++) pods.push(podOf("x".repeat(10_000), []));
  await assert.rejects(caller.list({}), { code: "ResourceExhausted" });
  pods.length = 1;
  assert.equal((await caller.list({})).podResources.length, 1);
});

test("the folder is for root and its group; a socket that a killed agent left is replaced", async (t) => {
  const { caller, directory, server } = await serve(t, { pods: () => [podOf("p", [])] });
  assert.equal(statSync(directory).mode & 0o777, 0o750);
  const path = join(directory, "kubelet.sock");
  await server.close();
  await assert.rejects(caller.list({}), { code: "Unavailable" });
  const left = createServer();
  await new Promise<void>((resolve) => left.listen(`${path}-made`, resolve));
  renameSync(`${path}-made`, path);
  await new Promise((resolve) => left.close(resolve));
  await server.start();
  await eventuallyPasses(async () => assert.equal((await caller.list({})).podResources.length, 1));
});
