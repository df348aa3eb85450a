import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cleanUpRun, ensureCredentials, type Layout, layoutOf, writeKubeconfigs } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import {
  command,
  drayArguments,
  getJSON,
  gpuOf,
  installDriver,
  processesOf,
  type TestCluster,
  withoutKubectl,
} from "./harness.ts";

/**
 * Every component as a process of its own; each is killed with SIGKILL in the middle of a workload and
 * started again. Nothing acknowledged may be lost, no device given twice, and each pod must end with an
 * unprepare.
 */
class Parts implements TestCluster {
  readonly folder = mkdtempSync(join(tmpdir(), "dray-faults-"));
  readonly layout: Layout = layoutOf(join(this.folder, "data"));
  readonly dataDir = this.layout.dataDir;
  readonly kubeconfig = this.layout.kubeconfig;
  readonly env = { ...process.env, KUBECONFIG: this.kubeconfig, HOME: this.folder };
  readonly nodes = ["n1", "n2"];
  readonly #running = new Map<string, ChildProcess>();
  port = 0;

  start(
    name: "apiserver" | "scheduler" | "controller-manager" | "kubelet",
    ...flags: string[]
  ): ChildProcess {
    const child = spawn(process.execPath, [...drayArguments, name, ...flags], {
      stdio: ["ignore", "pipe", process.env["DRAY_TEST_LOGS"] ? "inherit" : "ignore"],
    });
    this.#running.set(name, child);
    return child;
  }

  async startServer(): Promise<void> {
    const child = this.start("apiserver", "--data-dir", this.dataDir, "--port", `${this.port}`);
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout?.on("data", (chunk: Buffer) => chunk.includes("ready at") && resolve(chunk.toString()));
      child.once("exit", (code) => reject(new Error(`the API server ended with ${code}`)));
    });
    this.port = Number(/:(\d+)/.exec(/https:\S+/.exec(line)?.[0] ?? "")?.[1]);
  }

  startScheduler(): void {
    this.start("scheduler", "--kubeconfig", this.kubeconfig);
  }

  startControllers(): void {
    this.start("controller-manager", "--kubeconfig", this.kubeconfig);
  }

  startAgents(): void {
    const flags = this.nodes.flatMap((node, i) => [
      "--node-name",
      node,
      "--kubeconfig",
      this.layout.nodeKubeconfig(node),
      "--root-dir",
      this.layout.nodeRoot(i),
      "--tls-cert-file",
      join(this.layout.pki, `node-${node}-server.crt`),
      "--tls-private-key-file",
      join(this.layout.pki, `node-${node}-server.key`),
    ]);
    // The disk of this machine may be full.
    this.start("kubelet", "--eviction-hard=", ...flags);
  }

  async startAll(): Promise<void> {
    const credentials = await ensureCredentials(this.layout, this.nodes, Date.now());
    await this.startServer();
    await writeKubeconfigs(this.layout, "dray", credentials, `https://127.0.0.1:${this.port}`);
    for (const i of this.nodes.keys()) mkdirSync(this.layout.nodeRoot(i), { recursive: true });
    this.startScheduler();
    this.startControllers();
    this.startAgents();
    await eventually("the nodes are ready", async () => {
      const { items } = await getJSON(this, "nodes");
      const ready = items.filter((node: { status: { conditions: { type: string; status: string }[] } }) =>
        node.status.conditions?.some((c) => c.type === "Ready" && c.status === "True"),
      );
      return ready.length === 2;
    });
  }

  /** SIGKILL, and wait until the process is gone. */
  async kill(name: string): Promise<void> {
    const child = this.#running.get(name);
    assert.ok(child, `${name} does not run`);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  async kubectl(...args: string[]): Promise<string> {
    const output = await this.tryKubectl(args);
    if (output.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output.stderr}`);
    return output.stdout;
  }

  tryKubectl(args: readonly string[], input?: string) {
    return command("kubectl", args, { env: this.env, ...(input === undefined ? {} : { input }) });
  }

  async shell(line: string): Promise<string> {
    return (await command("sh", ["-c", `(${line}) 2>&1`], { env: this.env })).stdout;
  }

  async down(): Promise<void> {
    for (const child of this.#running.values()) child.kill("SIGKILL");
    await cleanUpRun(this.layout);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const program = "env | grep -E GPU_DEVICE_[0-9]+=; trap 'exit 0' TERM; sleep 9999 & wait";

function workload(name: string, replicas: number): object[] {
  const claims = [{ name: "gpu" }];
  return [
    {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name },
      spec: {
        spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu.example.com" } }] } },
      },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: {
            containers: [
              { name: "main", image: "host", command: ["sh", "-c", program], resources: { claims } },
            ],
            resourceClaims: [{ name: "gpu", resourceClaimTemplateName: name }],
          },
        },
      },
    },
  ];
}

interface PodState {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly ready: boolean }[];
  };
}

/** Parts that are killed and come back. */
const withKubectl = { skip: withoutKubectl, timeout: 240_000 };

const parts = new Parts();
before(() => (withoutKubectl ? undefined : parts.startAll()));
after(() => (withoutKubectl ? undefined : parts.down()));
const label = "app.kubernetes.io/name=dra-example-driver";

const create = async (objects: readonly object[]): Promise<void> => {
  for (const object of objects) {
    await eventually(
      "the server takes the object",
      async () => (await parts.tryKubectl(["apply", "-f", "-"], JSON.stringify(object))).code === 0,
    );
  }
};
const running = (app: string, count: number, seconds = 60): Promise<PodState[]> =>
  eventually(
    `${count} pods of ${app} run`,
    async () => {
      const { items } = (await getJSON(parts, "pods", "-l", `app=${app}`)) as { items: PodState[] };
      return (
        items.length === count && items.every((pod) => pod.status.containerStatuses?.[0]?.ready) && items
      );
    },
    seconds * 1000,
  );
/** First process of a pod's container; the shell around it has another environment. */
const processOf = async (pod: string): Promise<number> =>
  eventually(`${pod} has a process`, async () => {
    const lines = processesOf(`HOSTNAME=${pod}`).filter((line) => line.endsWith(`sh -c ${program} `));
    return lines.length === 1 ? Number(lines[0]?.split(" ")[0]) : undefined;
  });
/** Each allocated device, once. */
const devicesAreDistinct = async (): Promise<void> => {
  const { items } = await getJSON(parts, "resourceclaims", "-A");
  const devices = items.flatMap(
    (claim: {
      status: { allocation?: { devices: { results: { driver: string; pool: string; device: string }[] } } };
    }) =>
      (claim.status.allocation?.devices.results ?? []).map(
        (result) => `${result.driver}/${result.pool}/${result.device}`,
      ),
  );
  assert.equal(new Set(devices).size, devices.length, `a device was given twice: ${devices}`);
};

test("installs the driver", withKubectl, () => installDriver(parts));

test("the API server is killed while a Deployment rolls out", withKubectl, async () => {
  await create(workload("first", 6));
  await parts.kill("apiserver");
  await parts.startServer();
  await running("first", 6);
  await devicesAreDistinct();
});

test("acknowledged writes survive the API server's death", withKubectl, async () => {
  const acknowledged: string[] = [];
  let killed = false;
  const writer = async (id: number): Promise<void> => {
    for (let i = 0; !killed && i < 200; i++) {
      const name = `write-${id}-${i}`;
      if ((await parts.tryKubectl(["create", "configmap", name])).code === 0) acknowledged.push(name);
    }
  };
  const writers = [writer(1), writer(2)];
  await eventually("some writes are acknowledged", async () => acknowledged.length > 4);
  await parts.kill("apiserver");
  killed = true;
  await Promise.all(writers);
  await parts.startServer();
  const { items } = await eventually("the server answers", () => getJSON(parts, "configmaps"));
  const names = new Set(items.map((item: { metadata: { name: string } }) => item.metadata.name));
  for (const name of acknowledged) assert.ok(names.has(name), `${name} was acknowledged and is gone`);
});

test("the node agents are killed: running containers are adopted", withKubectl, async () => {
  const pods = await running("first", 6);
  const before = await Promise.all(pods.map((pod) => processOf(pod.metadata.name)));
  await parts.kill("kubelet");
  await create(workload("second", 2));
  for (const pid of before) assert.ok(existsSync(`/proc/${pid}`), "a container died with the agent");
  parts.startAgents();
  await running("second", 2);
  const after = await running("first", 6);
  assert.deepEqual(after.map((pod) => pod.metadata.name).sort(), pods.map((pod) => pod.metadata.name).sort());
  assert.deepEqual(await Promise.all(pods.map((pod) => processOf(pod.metadata.name))), before);
  assert.ok(after.every((pod) => pod.status.containerStatuses?.[0]?.restartCount === 0));
  await devicesAreDistinct();
});

test("a container that ended while no agent ran is started again", withKubectl, async () => {
  const [pod] = await running("second", 2);
  const name = pod!.metadata.name;
  const pid = await processOf(name);
  await parts.kill("kubelet");
  process.kill(pid, "SIGKILL");
  parts.startAgents();
  await eventually("the container is new", async () => {
    const { status } = (await getJSON(parts, "pod", name)) as PodState;
    return status.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].ready;
  });
  assert.notEqual(await processOf(name), pid);
  assert.match(await gpuOf(parts, name), /^gpu-\d$/);
});

test("the drivers are killed: they come back, and serve what they had prepared", withKubectl, async () => {
  const { items } = await getJSON(parts, "pods", "-n", "dra-tutorial", "-l", label);
  // The port of the API server tells our drivers from those of other clusters on this machine.
  const pids = processesOf(`KUBERNETES_SERVICE_PORT=${parts.port}`)
    .filter((line) => /driver example|drivers\/example/.test(line))
    .map((line) => Number(line.split(" ")[0]));
  assert.ok(pids.length >= 2);
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await create(workload("third", 2));
  await running("third", 2, 90);
  const after = await getJSON(parts, "pods", "-n", "dra-tutorial", "-l", label);
  assert.deepEqual(
    after.items.map((pod: PodState) => pod.metadata.name).sort(),
    items.map((pod: PodState) => pod.metadata.name).sort(),
  );
  assert.ok(
    after.items.every((pod: PodState) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) >= 1),
  );
  await devicesAreDistinct();
});

test(
  "scheduler and controllers are killed: pods are scheduled when they come back",
  withKubectl,
  async () => {
    await parts.kill("scheduler");
    await parts.kill("controller-manager");
    await create(workload("fourth", 3));
    parts.startScheduler();
    parts.startControllers();
    await running("fourth", 3);
    await devicesAreDistinct();
  },
);

test("every pod ends with an unprepare, and nothing stays allocated", withKubectl, async () => {
  const { items } = await getJSON(parts, "resourceclaims");
  assert.equal(items.length, 6 + 2 + 2 + 3);
  await parts.kubectl("delete", "deployment", "--all");
  await eventually(
    "the claims are gone",
    async () => (await getJSON(parts, "resourceclaims")).items.length === 0,
    60_000,
  );
  for (const i of parts.nodes.keys()) {
    const folder = join(parts.layout.nodeRoot(i), "var", "run", "cdi");
    const files = await command("sh", ["-c", `ls ${folder} | grep -v common || true`]);
    assert.equal(files.stdout, "", "CDI files of claims are left");
  }
  assert.match(
    await parts.kubectl("logs", "-l", label, "-n", "dra-tutorial", "--tail=-1"),
    /UnprepareResourceClaims is called/,
  );
});
