import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import {
  type Container,
  ContainerState,
  ContainerUpdate,
  CreateContainerResponse,
  StopContainerResponse,
} from "@dray/rpc/nri/v1alpha1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { CriRuntime } from "../runtime/cri/runtime.ts";
import { HostRuntime } from "../runtime/host/host.ts";
import { ImageTable } from "../runtime/host/images.ts";
import type { NodeRuntime } from "../runtime/service.ts";
import { type PluginMethods, type TestPlugin, testPlugin } from "../testing/nri-plugin.ts";
import { ContractPod } from "../testing/runtime-contract/pod.ts";
import type { ContractMachine } from "../testing/runtime-contract/types.ts";
import { TestContainerd, testImage, withoutContainerd } from "../testing/test-containerd.ts";
import { withNri } from "./runtime.ts";

interface TestNode extends ContractMachine {
  /** The current runtime. */
  node: NodeRuntime;
  readonly nri: string;
  readonly records: string;
  /** Restarts the agent. */
  again(): Promise<void>;
  /** Connects a plugin, and waits until it is synchronized. */
  plugin(methods: PluginMethods): Promise<TestPlugin>;
}

async function startNode(
  t: TestContext,
  {
    folder,
    image,
    inner,
    close,
  }: Pick<TestNode, "folder" | "image" | "close"> & { readonly inner: () => NodeRuntime },
): Promise<TestNode> {
  const cdi = join(folder, "cdi");
  const nri = join(folder, "nri.sock");
  const records = join(folder, "nri");
  mkdirSync(cdi, { recursive: true });
  const open = () =>
    withNri(inner(), {
      socketPath: nri,
      folder: records,
      cdi: cdiRegistry([cdi]),
      clock: systemClock,
      newId: randomUUID,
      log: silentLog,
    });
  const machine: TestNode = {
    folder,
    image,
    cdi,
    nri,
    records,
    open,
    node: open(),
    async again() {
      await machine.node.service.close();
      machine.node = open();
      await machine.node.service.start();
    },
    async plugin(methods) {
      const plugin = await testPlugin(nri, methods);
      await plugin.synchronized;
      // Until the response has arrived.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return plugin;
    },
    close,
  };
  await machine.node.service.start();
  const alive = setInterval(() => {}, 1000);
  t.after(async () => {
    clearInterval(alive);
    const { service } = machine.node;
    for (const { id } of await service.listPodSandboxes()) {
      await service.stopPodSandbox(id);
      await service.removePodSandbox(id);
    }
    await service.close();
    assert.deepEqual(readdirSync(records), []);
    await close();
  });
  return machine;
}

function hostNode(t: TestContext): Promise<TestNode> {
  const folder = mkdtempSync("/tmp/dk-");
  const inner = (): NodeRuntime => {
    const images = new ImageTable([]);
    const service = new HostRuntime({
      directory: join(folder, "runtime"),
      podsDirectory: join(folder, "pods"),
      rootDir: folder,
      nodeAddress: "127.0.0.1",
      images,
      isolation: "auto",
      cgroups: "auto",
      cdi: cdiRegistry([join(folder, "cdi")]),
      hostPath: (path) => path,
      clock: systemClock,
      newId: randomUUID,
      log: silentLog,
    });
    return { service, images };
  };
  return startNode(t, {
    folder,
    image: "busybox",
    inner,
    close: async () => rmSync(folder, { recursive: true }),
  });
}

test("adjustments of plugins are applied, and plugins receive the variables of devices", async (t) => {
  const machine = await hostNode(t);
  let seen: Container | undefined;
  await machine.plugin({
    createContainer: async ({ container }) => {
      seen = container;
      return CreateContainerResponse.fromPartial({
        adjust: {
          env: [{ key: "A", value: "changed" }, { key: "-B" }, { key: "C", value: "added" }],
          annotations: { note: "n" },
          hooks: { poststop: [{ path: "/bin/true" }] },
          linux: { sysctl: { "net.a": "1" }, devices: [{ path: "/dev/fifo", type: "p" }] },
        },
      });
    },
  });
  writeFileSync(
    join(machine.cdi, "a.json"),
    JSON.stringify({
      cdiVersion: "0.6.0",
      kind: "a.example/b",
      devices: [{ name: "one", containerEdits: { env: ["DRA_CPUSET_claim=0-1"] } }],
    }),
  );
  const pod = new ContractPod(machine, machine.node);
  await pod.run();
  const { output, unsupported } = await pod.ended('echo "$A|$B|$C|$DRA_CPUSET_claim"', {
    env: [
      ["A", "1"],
      ["B", "2"],
    ],
    mounts: [{ hostPath: machine.folder, containerPath: "/data", readOnly: true }],
    resources: { cpuShares: 512, memoryLimitBytes: 2 ** 30 },
    cdiDevices: ["a.example/b=one"],
  });
  assert.equal(output, "changed||added|0-1\n");
  for (const what of ["hooks", "sysctl", "device /dev/fifo of type p"])
    assert.ok(unsupported.includes(`${what} of NRI plugins`), String(unsupported));
  assert.deepEqual(seen?.env, ["A=1", "B=2", "DRA_CPUSET_claim=0-1"]);
  assert.deepEqual([seen?.podSandboxId, seen?.name], [pod.sandboxId, "c0"]);
  assert.deepEqual(seen?.mounts[0], {
    destination: "/data",
    type: "bind",
    source: machine.folder,
    options: ["rbind", "rprivate", "ro"],
  });
  const { resources } = seen?.linux ?? {};
  assert.deepEqual([resources?.cpu?.shares?.value, resources?.memory?.limit?.value], [512n, 2n ** 30n]);
  assert.equal(statSync(join(machine.records, `${pod.sandboxId}.json`)).mode & 0o777, 0o600);
});

test("plugins receive every event once, in order, also for containers that end by themselves", async (t) => {
  const machine = await hostNode(t);
  const seen: string[] = [];
  await machine.plugin({
    stateChange: async ({ event }) => {
      seen.push(String(event));
      return {};
    },
    createContainer: async () => {
      seen.push("create");
      return CreateContainerResponse.fromPartial({});
    },
    stopContainer: async () => {
      seen.push("stop");
      return StopContainerResponse.fromPartial({});
    },
  });
  const pod = new ContractPod(machine, machine.node);
  await pod.run();
  const { id } = await pod.start("exit 0");
  await eventuallyPasses(async () => assert.ok(seen.includes("stop")));
  await machine.node.service.stopContainer(id, 0);
  await machine.node.service.removeContainer(id);
  await machine.node.service.removeContainer(id);
  await pod.remove();
  await pod.remove();
  const [run, postCreate, start, postStart, remove, stopPod, removePod] = [
    "1",
    "5",
    "6",
    "7",
    "11",
    "2",
    "3",
  ];
  assert.deepEqual(seen, [run, "create", postCreate, start, postStart, "stop", remove, stopPod, removePod]);
});

test("plugins receive StopContainer before a container is stopped, also for one that has ended itself", async (t) => {
  const machine = await hostNode(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let asked = 0;
  await machine.plugin({
    stopContainer: async () => {
      asked++;
      await released;
      return StopContainerResponse.fromPartial({});
    },
  });
  const pod = new ContractPod(machine, machine.node);
  await pod.run();
  const { id } = await pod.start("exit 0");
  await eventuallyPasses(async () => assert.equal(asked, 1));
  let stopped = false;
  const stop = machine.node.service.stopContainer(id, 0).then(() => {
    stopped = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(stopped, false);
  release();
  await stop;
  assert.equal(asked, 1);
  await pod.remove();
});

test("plugins hear of the end of a pod while it is there, and of one that another plugin rejects", async (t) => {
  const machine = await hostNode(t);
  const { service } = machine.node;
  const heard: string[] = [];
  let rejects = false;
  await machine.plugin({
    stopPodSandbox: async ({ pod }) => {
      const [found] = await service.listPodSandboxes(pod?.uid);
      heard.push(`stop ${found?.ready}`);
      return {};
    },
    removePodSandbox: async () => {
      heard.push("remove");
      return {};
    },
    runPodSandbox: async () => {
      if (rejects) throw new Error("no");
      return {};
    },
  });
  const pod = new ContractPod(machine, machine.node);
  await pod.run();
  await service.stopPodSandbox(pod.sandboxId);
  await pod.remove();
  assert.deepEqual(heard.splice(0), ["stop true", "remove"]);
  rejects = true;
  await assert.rejects(new ContractPod(machine, machine.node).run(), /NRI: .*no/);
  assert.deepEqual(heard, ["stop true", "remove"]);
});

test("a sandbox or container that a plugin rejects fails with the plugin's reason", async (t) => {
  const machine = await hostNode(t);
  let refuse = "";
  const refusing = (name: string) => async () => {
    if (refuse === name) throw new Error(`no ${name}`);
    return CreateContainerResponse.fromPartial({});
  };
  await machine.plugin({
    runPodSandbox: refusing("sandbox"),
    createContainer: refusing("container"),
    startContainer: refusing("start"),
  });
  const refused = (reason: string, message: RegExp) => (error: Error & { reason?: string }) => {
    assert.equal(error.reason, reason);
    assert.match(error.message, message);
    return true;
  };
  const pod = new ContractPod(machine, machine.node);
  refuse = "sandbox";
  await assert.rejects(pod.run(), refused("FailedCreatePodSandBox", /NRI: .*no sandbox/));
  assert.deepEqual(await machine.node.service.listPodSandboxes(), []);
  refuse = "container";
  await pod.run();
  await assert.rejects(pod.create("exit 0"), refused("CreateContainerError", /NRI: .*no container/));
  assert.deepEqual(await machine.node.service.listContainers(), []);
  refuse = "start";
  const { id } = await pod.create("exit 0");
  await assert.rejects(
    machine.node.service.startContainer(id),
    refused("RunContainerError", /NRI: .*no start/),
  );
  assert.equal((await pod.find(id)).state, "created");
});

test("a plugin that connects later, or to a restarted agent, receives the state", async (t) => {
  const machine = await hostNode(t);
  const pod = new ContractPod(machine, machine.node);
  await pod.run();
  await pod.start("sleep 1000", { env: [["A", "1"]] });
  const gone = await pod.start("exit 0");
  await pod.exited(gone.id);
  const synchronizedId = async () => {
    const plugin = await machine.plugin({});
    const [{ pods, containers } = { pods: [], containers: [] }] = await plugin.synchronized;
    plugin.close();
    assert.deepEqual(
      pods.map(({ id, uid }) => [id, uid]),
      [[pod.sandboxId, pod.uid]],
    );
    const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
    assert.deepEqual(
      running.map(({ env, podSandboxId }) => [env, podSandboxId]),
      [[["A=1"], pod.sandboxId]],
    );
    return running[0]?.id;
  };
  const before = await synchronizedId();
  writeFileSync(join(machine.records, "damaged.json"), "{");
  await machine.again();
  assert.equal(await synchronizedId(), before);
  assert.ok(!readdirSync(machine.records).includes("damaged.json"));
});

const withoutCpus = availableParallelism() < 2 ? "containerd: needs 2 CPUs" : undefined;

test("plugins pin containers to CPUs", { skip: withoutContainerd ?? withoutCpus ?? false }, async (t) => {
  const containerd = new TestContainerd();
  await containerd.start();
  const { socket: endpoint, cgroupRoot, folder } = containerd;
  const inner = (): NodeRuntime => {
    const service = new CriRuntime({
      endpoint,
      node: "node",
      clock: systemClock,
      log: silentLog,
      cgroupRoot,
    });
    return { service, images: service.images };
  };
  const machine = await startNode(t, { folder, image: testImage, inner, close: () => containerd.close() });
  const pinned = (cpus: string) => ({ linux: { resources: { cpu: { cpus } } } });
  const ids: string[] = [];
  const plugin = await machine.plugin({
    createContainer: async ({ container: { id = "" } = {} }) => {
      ids.push(id);
      const update =
        ids.length > 1 ? [ContainerUpdate.fromPartial({ containerId: ids[0]!, ...pinned("1") })] : [];
      return CreateContainerResponse.fromPartial({ adjust: pinned("0"), update });
    },
    stopContainer: async () =>
      StopContainerResponse.fromPartial({
        update: [ContainerUpdate.fromPartial({ containerId: ids[0]!, ...pinned("0-1") })],
      }),
  });
  const pod = new ContractPod(machine, machine.node);
  await pod.run();
  const { id } = await pod.start("sleep 1000");
  const cpus = async () => {
    const { output } = await machine.node.service.execSync(
      id,
      ["grep", "Cpus_allowed_list", "/proc/1/status"],
      10_000,
    );
    return output.split("\t")[1]?.trim();
  };
  assert.equal(await cpus(), "0");
  const { id: second } = await pod.start("sleep 1000");
  assert.equal(await cpus(), "1");
  await machine.node.service.stopContainer(second, 0);
  assert.equal(await cpus(), "0-1");
  const wanted = ContainerUpdate.fromPartial({ containerId: ids[0]!, ...pinned("0") });
  const other = ContainerUpdate.fromPartial({ containerId: "unknown", ...pinned("0") });
  const { failed } = await plugin.runtime.updateContainers({ update: [wanted, other], evict: [] });
  assert.deepEqual(
    failed.map(({ containerId }) => containerId),
    ["unknown"],
  );
  assert.equal(await cpus(), "0");
});
