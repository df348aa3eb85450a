import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { layoutOf } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../connection/connect.ts";
import { examplesFolder } from "../drivers/examples.ts";
import { dray, inFolder, processesWith, start } from "../testing/program.ts";

const driver = "gpu.example.com";

/** The output of `kubectl get nodes,resourceslices -o yaml`. */
const dump = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: prod-1
    labels: {node-restriction.kubernetes.io/rack: r7, kubernetes.io/hostname: prod-1}
  status:
    capacity: {cpu: "96", memory: 1Ti, pods: "110"}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: prod-1-a, uid: 2f0b0a10-9d8f-4f2c-a0ff-3f1f0c5d9b11, resourceVersion: "7"}
  spec:
    driver: ${driver}
    nodeName: prod-1
    pool: {name: prod-1, generation: 5, resourceSliceCount: 1}
    devices:
    - {name: gpu-0, attributes: {model: {string: H100}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: fabric-a}
  spec:
    driver: fabric.example.com
    allNodes: true
    pool: {name: fabric, generation: 1, resourceSliceCount: 1}
    devices: [{name: link-0}]
`;

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await dray(args);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

async function failure(...args: string[]): Promise<string> {
  const { code, stderr } = await dray(args);
  assert.notEqual(code, 0);
  return stderr;
}

/** Creates a pod that prints its variables and sleeps, and a claim for one device of the class. */
async function createPod(client: Client, name: string, deviceClassName = driver): Promise<void> {
  const requests = [{ name: "device", exactly: { deviceClassName } }];
  await client
    .resource(ResourceClaim)
    .create({ metadata: { namespace: "default", name }, spec: { devices: { requests } } } as never);
  await client.resource(Pod).create({
    metadata: { namespace: "default", name },
    spec: {
      terminationGracePeriodSeconds: 1,
      resourceClaims: [{ name: "c", resourceClaimName: name }],
      containers: [
        {
          name: "main",
          image: "busybox",
          command: ["sh", "-c", "env; exec sleep 1000"],
          resources: { claims: [{ name: "c" }] },
        },
      ],
    },
  } as never);
}

const running = (client: Client, name: string) => async (): Promise<boolean> =>
  (await client.resource(Pod).get({ namespace: "default", name })).status?.phase === "Running";

const unschedulable = (client: Client, name: string) => async (): Promise<boolean> => {
  const { status } = await client.resource(Pod).get({ namespace: "default", name });
  return status?.conditions?.some(({ reason }) => reason === "Unschedulable") ?? false;
};

test("up --fleet: mistakes are named before anything starts", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const file = join(folder, "fleet.yaml");
    assert.equal(
      await failure("up", "--fleet", file, ...data),
      `error: --fleet ${file}: there is no such file\nSee \`dray up --help\`.\n`,
    );
    writeFileSync(file, "apiVersion: dray.dev/v1alpha1\nkind: Fleet\nnodes: [{nme: a}]\n");
    assert.match(
      await failure("up", "--fleet", file, ...data),
      /^error: .*fleet\.yaml:3: nodes\[0\]\.nme: unknown field; known are capacity, count, drivers, labels, name, names, pattern, simulated\n$/,
    );
    writeFileSync(file, "apiVersion: dray.dev/v1alpha1\nkind: Fleet\nnodes: [{names: [a, b]}]\n");
    assert.match(
      await failure("up", "--fleet", file, "--nodes", "3", ...data),
      /^error: --nodes 3: .*fleet\.yaml names 2 nodes \(a, b\): leave --nodes out, or change the file\n/,
    );
    const pools = "[{devices: [{name: a}]}]";
    writeFileSync(
      file,
      `apiVersion: dray.dev/v1alpha1\nkind: Fleet\nnodes: [{names: [a, b], drivers: [{driver: gpu.example.com, pools: ${pools}}]}]\n`,
    );
    assert.match(
      await failure("up", "--fleet", file, "--driver", "example", ...data),
      /^error: --driver example: the fleet of the cluster, .*fleet\.yaml, has a driver gpu\.example\.com already; leave --driver out, /,
    );
    assert.match(
      await failure("driver", "simulate", "--fleet", file, "--node-name", "c"),
      /^error: --node-name c: .*fleet\.yaml has no drivers for it; it names a, b\n/,
    );
    assert.match(await run("status", ...data).catch(() => "none"), /none/);
  }));

test(
  "up --fleet: the slices of a real cluster are devices that pods start with, break and heal",
  { timeout: 240_000 },
  () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, "data");
      const data = ["--data-dir", dataDir];
      const file = join(folder, "production.yaml");
      writeFileSync(file, dump);
      const startCluster = async (...args: string[]) => {
        const banner = await run("up", "--detach", ...data, ...args);
        const { client } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
        return { banner, client };
      };
      try {
        let { banner, client } = await startCluster("--fleet", file);
        assert.match(
          banner,
          /\n {2}nodes {7}prod-1\n {2}fleet {7}.*production\.yaml: 1 node, 2 drivers, 2 devices\n/,
        );
        assert.match(await run("status", ...data), /\n {2}fleet {7}.*production\.yaml\n/);
        const node = await client.resource(Node).get({ name: "prod-1" });
        assert.equal(node.status?.capacity?.["cpu"], "96");
        // Only an administrator may set this label of a node.
        await eventually("the labels of the fleet", async () => {
          const { metadata } = await client.resource(Node).get({ name: "prod-1" });
          return metadata.labels?.["node-restriction.kubernetes.io/rack"] === "r7";
        });

        await createPod(client, "one");
        await eventually("the pod runs", running(client, "one"));
        // A running container may not have printed yet.
        await eventually("the pod has the device", async () => {
          const log = await client.text("GET", "/api/v1/namespaces/default/pods/one/log");
          return /^DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0=prod-1\/gpu-0$/m.test(log);
        });
        await createPod(client, "linked", "fabric.example.com");
        await eventually("the pod with a device of the network runs", running(client, "linked"));
        await client.resource(Pod).delete({ namespace: "default", name: "one" }, { gracePeriodSeconds: 1 });

        await run("device", "break", "prod-1/gpu-0", "--message", "burnt", ...data);
        const [broken] = JSON.parse(await run("device", "list", "-o", "json", ...data));
        assert.deepEqual(broken, {
          node: "prod-1",
          driver,
          pool: "prod-1",
          device: "gpu-0",
          health: "Unhealthy",
          message: "burnt",
          taints: [`${driver}/unhealthy=true:NoSchedule`],
        });
        await run("device", "break", "fabric/link-0", "--message", "no carrier", ...data);
        await eventually("the pod that has the device says so", async () => {
          const { status } = await client.resource(Pod).get({ namespace: "default", name: "linked" });
          const [resource] = status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
          const [device] = resource?.resources ?? [];
          return device?.health === "Unhealthy" && device.message === "no carrier";
        });
        await createPod(client, "two");
        await eventually("no pod gets the broken device", unschedulable(client, "two"));
        assert.match(
          await failure("device", "break", "prod-1/gpu-1", ...data),
          /^error: there is no device prod-1\/gpu-1: did you mean prod-1\/gpu-0\?\n/,
        );

        // The device is still broken after a restart of the cluster with the same fleet.
        client.close();
        await run("down", ...data);
        writeFileSync(file, "gone: true\n");
        ({ client } = await startCluster());
        assert.match(await run("device", "list", ...data), /prod-1 .* gpu-0 +Unhealthy/);
        assert.match(
          await failure("up", "--nodes", "2", ...data),
          /^error: --nodes 2: .*production\.yaml names 1 node \(prod-1\)/,
        );
        await run("device", "heal", `prod-1/${driver}/prod-1/gpu-0`, ...data);
        await eventually("the pod gets the healed device", running(client, "two"));

        // A crash of the drivers delays pods only briefly.
        const [pid] = processesWith(join(dataDir, "logs", "drivers.log"));
        process.kill(pid!, "SIGKILL");
        await client.resource(Pod).delete({ namespace: "default", name: "two" }, { gracePeriodSeconds: 1 });
        await createPod(client, "three");
        await eventually("the next pod runs", running(client, "three"));

        client.close();
        await run("down", ...data);
        ({ client } = await startCluster("--fleet", "none"));
        const count = async (
          kind: typeof DeviceClass | typeof ResourceSlice | typeof Node,
        ): Promise<string[]> =>
          (await client.resource(kind as typeof Node).list()).items.map(({ metadata }) => metadata.name);
        await eventually("nothing of the fleet is left", async () => {
          const left = [await count(DeviceClass), await count(ResourceSlice), await count(Node)];
          return JSON.stringify(left) === JSON.stringify([[], [], ["worker-1", "worker-2"]]);
        });
        client.close();
      } finally {
        await dray(["down", "--delete-data", ...data]);
      }
      await eventually("no process is left", () => processesWith(dataDir).length === 0);
    }),
);

for (const file of readdirSync(join(examplesFolder(), "fleet")))
  test(`examples/fleet/${file} makes a cluster`, { timeout: 120_000 }, () =>
    inFolder(async (folder) => {
      const data = ["--data-dir", join(folder, "data")];
      try {
        const path = join(examplesFolder(), "fleet", file);
        const up = ["up", "--detach", "--store", "memory", "--fleet", path, ...data];
        const { nodes, drivers, fleet } = JSON.parse(await run(...up, "-o", "json"));
        assert.equal(fleet, path);
        assert.ok(nodes.every(({ ready }: { ready: boolean }) => ready));
        assert.ok(drivers.length > 0 && drivers.every(({ devices }: { devices: number }) => devices > 0));
        const { client } = await connect({ kubeconfig: join(folder, "data/kubeconfig") }, "test");
        const classes = (await client.resource(DeviceClass).list()).items.map(
          ({ metadata }) => metadata.name,
        );
        for (const name of classes) {
          await createPod(client, name.replaceAll(".", "-"), name);
          await eventually(`a pod with a device of ${name}`, running(client, name.replaceAll(".", "-")));
        }
        assert.ok(classes.length > 0);
        client.close();
      } finally {
        await dray(["down", "--delete-data", ...data]);
      }
      assert.ok(!existsSync(join(folder, "data")), "no copy of the file is left");
    }),
  );

test("driver simulate: the drivers of one node, beside any kubelet", { timeout: 120_000 }, () =>
  inFolder(async (folder) => {
    const [dataDir, file] = [join(folder, "data"), join(folder, "fleet.yaml")];
    const kubeconfig = join(dataDir, "kubeconfig");
    writeFileSync(
      file,
      `apiVersion: dray.dev/v1alpha1
kind: Fleet
nodes: [{pattern: "worker-*", drivers: [{driver: ${driver}, pools: [{devices: [{name: gpu-0}]}]}]}]
network: [{driver: fabric.example.com, pools: [{name: fabric, allNodes: true, devices: [{name: link-0}]}]}]
`,
    );
    const started: ChildProcess[] = [];
    try {
      const up = ["up", "--detach", "--nodes", "2", "--store", "memory", "--data-dir", dataDir];
      await run(...up);
      const { client } = await connect({ kubeconfig }, "test");
      await client.resource(Namespace).create({ metadata: { name: "dray-system" } } as never);
      for (const [i, node] of ["worker-1", "worker-2"].entries()) {
        const root = layoutOf(dataDir).nodeRoot(i);
        const child = start([
          ...["driver", "simulate", "--fleet", file, "--node-name", node, "--kubeconfig", kubeconfig],
          ...["--registrar-dir", join(root, "var/lib/kubelet/plugins_registry")],
          ...["--plugins-dir", join(root, "var/lib/kubelet/plugins"), "--cdi-dir", join(root, "var/run/cdi")],
        ]);
        started.push(child);
      }
      await client.resource(DeviceClass).create({ metadata: { name: "any" }, spec: {} });
      const pools = async (): Promise<string[]> =>
        (await client.resource(ResourceSlice).list()).items.map(({ spec }) => spec.pool.name).sort();
      await eventually(
        "the pools of both nodes, and once that of the network",
        async () => (await pools()).join() === "fabric,worker-1,worker-2",
      );
      for (const name of ["a", "b", "c"]) await createPod(client, name, "any");
      for (const name of ["a", "b", "c"]) await eventually(`pod ${name} runs`, running(client, name));
      assert.match(
        await failure("up", "--fleet", file, "--data-dir", dataDir),
        /^error: --fleet .*: the cluster in .* runs with no fleet \(process \d+\): stop it with `.*dray down.*` first\n/,
      );
      client.close();
      await run("down", "--data-dir", dataDir);
      const codes = started.map(async (child) => {
        const ended = once(child, "exit");
        child.kill("SIGTERM");
        return (await ended)[0];
      });
      assert.deepEqual(await Promise.all(codes), [0, 0], "a signal ends them");
    } finally {
      for (const child of started) child.kill("SIGKILL");
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  }),
);
