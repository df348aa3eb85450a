import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Container, Event, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { unixChannel } from "@dray/rpc";
import { PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { device, type TestPlugin, testPlugin } from "../testing/device-plugin.ts";

const lamp = "example.com/lamp";
let cluster: TestCluster;
let node: Kubelet;
const plugins: TestPlugin[] = [];
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  node = await cluster.node("n1");
});
after(async () => {
  await cluster.close();
  for (const plugin of plugins) await plugin.close();
});

const root = (): string => cluster.rootDir("n1");

async function newPlugin(): Promise<TestPlugin> {
  const plugin = await testPlugin({
    directory: join(root(), "var/lib/kubelet/device-plugins"),
    devices: [device("a", 0), device("b", 0), device("c", 1)],
    preStartRequired: true,
  });
  plugins.push(plugin);
  await plugin.register(lamp);
  return plugin;
}

/** Capacity and allocatable of lamps in the Node. */
const lamps = async (): Promise<string> => {
  const { status } = await cluster.admin.resource(Node).get({ name: "n1" });
  return `${status?.capacity?.[lamp]} ${status?.allocatable?.[lamp]}`;
};

const becomes = (name: string, wanted: (pod: Pod) => boolean) =>
  podBecomes(cluster.admin, { namespace: "default", name }, wanted);

const running = (pod: Pod): boolean => pod.status?.containerStatuses?.[0]?.state?.running !== undefined;

const asks = (count: number, more: Partial<Container> = {}): Container => ({
  name: "main",
  command: ["sh", "-c", "sleep 1000"],
  resources: { limits: { [lamp]: String(count) }, requests: { [lamp]: String(count) } },
  ...more,
});

/** Containers share a folder with the test. */
const create = (name: string, container: Container, initContainers: Container[] = []) => {
  const volumeMounts = [{ name: "shared", mountPath: "/shared" }];
  const hostPath = { path: "/var/lib/shared", type: "DirectoryOrCreate" };
  return cluster.admin.resource(Pod).create(
    podOn("n1", name, {
      volumes: [{ name: "shared", hostPath }],
      initContainers: initContainers.map((one) => ({ ...one, volumeMounts })),
      containers: [{ ...container, volumeMounts }],
    }),
  );
};
const shared = (file: string): string => join(root(), "var/lib/shared", file);

async function remove(name: string): Promise<void> {
  const pods = cluster.admin.resource(Pod);
  await pods.delete({ namespace: "default", name }, { gracePeriodSeconds: 1 });
  await eventuallyPasses(async () => {
    const { items } = await pods.list({ namespace: "default" });
    assert.ok(!items.some(({ metadata }) => metadata.name === name));
  });
}

const messagesOf = async (name: string, reason: string): Promise<(string | undefined)[]> => {
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  return items
    .filter((event) => event.involvedObject.name === name && event.reason === reason)
    .map(({ message }) => message);
};

test("a pod has the variables, mounts and CDI devices of its devices; the Node says how many there are", async () => {
  const plugin = await newPlugin();
  await eventuallyPasses(async () => assert.equal(await lamps(), "3 3"));
  writeFileSync(
    join(root(), "etc/cdi/lamp.json"),
    JSON.stringify({
      cdiVersion: "0.5.0",
      kind: "example.com/lamp",
      devices: [{ name: "a", containerEdits: { env: ["CDI_LAMP=a"] } }],
    }),
  );
  const shade = join(root(), "var/lib/shade");
  writeFileSync(shade, "green");
  plugin.allocate = (ids) => ({
    envs: { LAMPS: ids.join(), SHADE: "/shade", MINE: "plugin" },
    mounts: [{ containerPath: "/shade", hostPath: "/var/lib/shade", readOnly: true }],
    cdiDevices: [{ name: "example.com/lamp=a" }],
  });
  const out = shared("out");
  const print = `echo "$LAMPS $CDI_LAMP $MINE $(cat $SHADE) $1" >> /shared/out; sleep 1000`;
  const container = asks(2, {
    command: ["sh", "-c", print, "sh", "$(LAMPS)"],
    env: [{ name: "MINE", value: "pod" }],
  });
  const init = asks(1, { name: "init", command: ["sh", "-c", `echo "$LAMPS" >> /shared/out`] });
  await create("reader", container, [init]);
  const pod = await becomes("reader", running);
  await eventuallyPasses(async () => assert.equal(readFileSync(out, "utf8"), "a\na,b a pod green a,b\n"));
  assert.deepEqual(plugin.calls, ["allocate a", "allocate a,b", "preStart a", "preStart a,b"]);
  assert.deepEqual(pod.status?.containerStatuses?.[0]?.allocatedResourcesStatus, [
    {
      name: lamp,
      resources: [
        { resourceID: "a", health: "Healthy" },
        { resourceID: "b", health: "Healthy" },
      ],
    },
  ]);
  const channel = unixChannel(join(root(), "var/lib/kubelet/pod-resources/kubelet.sock"));
  const { podResources } = await channel
    .caller(PodResourcesListerDefinition)
    .get({ podName: "reader", podNamespace: "default" });
  channel.close();
  assert.deepEqual(podResources?.containers.find(({ name }) => name === "main")?.devices, [
    { resourceName: lamp, deviceIds: ["a"], topology: { nodes: [{ ID: 0 }] } },
    { resourceName: lamp, deviceIds: ["b"], topology: { nodes: [{ ID: 0 }] } },
  ]);
  plugin.report([device("a", 0), device("b", 0, "Unhealthy"), device("c", 1)]);
  await becomes(
    "reader",
    ({ status }) =>
      status?.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.resources?.[1]?.health === "Unhealthy",
  );
  await eventuallyPasses(async () => assert.equal(await lamps(), "3 2"));
  plugin.report([device("a", 0), device("b", 0), device("c", 1)]);
  await eventuallyPasses(async () => assert.equal(await lamps(), "3 3"));

  // Bound without the scheduler: the node refuses a pod for which it lacks devices.
  await create("greedy", asks(2));
  const refused = await becomes("greedy", ({ status }) => status?.phase === "Failed");
  const message =
    "Allocate failed due to requested number of devices unavailable for example.com/lamp. Requested: 2, Available: 1, which is unexpected";
  assert.equal(refused.status?.reason, "UnexpectedAdmissionError");
  assert.equal(refused.status?.message, `Pod was rejected: ${message}`);
  await eventuallyPasses(async () =>
    assert.deepEqual(await messagesOf("greedy", "UnexpectedAdmissionError"), [message]),
  );
  // A pod that is refused for another reason releases its devices.
  await create(
    "large",
    asks(1, { resources: { limits: { [lamp]: "1" }, requests: { cpu: "10k", [lamp]: "1" } } }),
  );
  await becomes("large", ({ status }) => status?.reason === "OutOfcpu");
  await create("modest", asks(1));
  await becomes("modest", running);
  await remove("modest");
  await remove("reader");
  await create("all", asks(3));
  await becomes("all", running);
  await remove("all");
});

test("another agent restores the allocations, and starts no container before the plugin is back", async () => {
  await create("holder", asks(2, { command: ["sh", "-c", "echo start; sleep 1000"] }));
  const { status } = await becomes("holder", running);
  const { startedAt } = status?.containerStatuses?.[0]?.state?.running ?? {};
  await node.stop({ leavePods: true });
  node = await cluster.node("n1");
  await eventuallyPasses(async () => assert.equal(await lamps(), "0 0"));
  // It runs on; a new pod waits for the plugin.
  const still = await becomes("holder", running);
  assert.equal(still.status?.containerStatuses?.[0]?.state?.running?.startedAt, startedAt);
  const { metadata } = await cluster.admin
    .resource(Pod)
    .create(podOn("n1", "waiting", { containers: [asks(1)] }));
  const plugin = await newPlugin();
  await becomes("waiting", running);
  await eventuallyPasses(async () => assert.equal(await lamps(), "3 3"));
  // The holder's devices were not allocated to the other pod.
  assert.ok(plugin.calls.includes("allocate c"), plugin.calls.join());
  await remove(metadata.name);
  await remove("holder");
});

test("a container that crashes while the agent was away waits for the plugin, and goes on by itself", async () => {
  const mark = shared("crash");
  const command = ["sh", "-c", "until [ -e /shared/crash ]; do sleep 0.1; done; rm /shared/crash; exit 1"];
  await create("crashing", asks(1, { command }));
  await becomes("crashing", running);
  await node.stop({ leavePods: true });
  writeFileSync(mark, "");
  node = await cluster.node("n1");
  const waiting = await becomes(
    "crashing",
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
  );
  assert.match(
    waiting.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
    /^device plugin for resource example\.com\/lamp has not yet reported devices; /,
  );
  await newPlugin();
  const again = await becomes("crashing", running);
  assert.equal(again.status?.containerStatuses?.[0]?.restartCount, 1);
  await remove("crashing");
});
