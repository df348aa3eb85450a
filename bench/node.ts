/**
 * A node under load: 200 pods with a claim each, created at once and deleted at once, by runtime; upstream's
 * kubelet on containerd beside, in the same run, on the same API server, scheduler and controllers (ours). As
 * root, with what `interop/build` has built.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../interop/credentials.ts";
import { draParts, startCluster } from "../interop/suites/clusters.ts";
import { makeImages } from "../interop/suites/images.ts";
import type { NodeAgent, RealNode } from "../interop/suites/nodes.ts";
import { suiteObstacle } from "../interop/suites/suite.ts";
import { program as drayProgram } from "../scripts/clone.js";
import { machine } from "./allocator/clock.ts";

const namespace = "default";
const driver = "gpu.example.com";
/** Milliseconds in which what pods have left must be gone, and between two looks at it. */
const settling = 120_000;
const settlingStep = 5_000;
/** Seconds that all pods may take to run, or to go. */
const timeoutSeconds = 600;

const rows: Readonly<Record<NodeAgent, string>> = {
  kubelet: "kubelet, containerd",
  cri: "Dray, containerd",
  oci: "Dray, runc",
  host: "Dray, processes",
};

interface Result {
  /** Seconds until all pods run, and until none is there. */
  readonly started: number;
  readonly deleted: number;
  /** Milliseconds of a call of NodePrepareResources. */
  readonly prepare: number;
  /** MiB of all processes of the node but those of the pods, with the pods running and after them. */
  readonly memory: number;
  readonly after: number;
  /** Seconds of processor time of those, from the first pod until none was there. */
  readonly processor: number;
  /** Kinds of things that the pods left behind, with their number. */
  readonly leaks: readonly string[];
}

/** `bench node [PODS [RUNTIME...]]` */
export async function nodeBench([count = "200", ...chosen]: readonly string[]): Promise<string> {
  const obstacle = suiteObstacle("dra");
  if (obstacle !== undefined) return `not run: ${obstacle}`;
  const known = Object.keys(rows) as NodeAgent[];
  const wrong = chosen.find((one) => !known.includes(one as NodeAgent));
  if (wrong !== undefined) throw new Error(`${wrong}: must be one of ${known.join(", ")}`);
  const agents = chosen.length === 0 ? known : (chosen as NodeAgent[]);
  const pods = Number(count);
  const lines: string[] = [];
  for (const agent of agents) {
    const result = await measure(agent, pods);
    const { started, deleted, prepare, memory, after, processor, leaks } = result;
    lines.push(
      `| ${rows[agent]} | ${started.toFixed(1)} s | ${(pods / started).toFixed(1)} | ${deleted.toFixed(1)} s | ` +
        `${prepare.toFixed(1)} ms | ${((processor * 1000) / pods).toFixed(0)} ms | ${memory.toFixed(0)} MiB | ` +
        `${after.toFixed(0)} MiB | ${leaks.length === 0 ? "nothing" : leaks.join("; ")} |`,
    );
    process.stderr.write(`${lines.at(-1)}\n`);
  }
  return `${machine}. ${pods} pods with a claim each.

| node | all run after | pods/s | all gone after | a prepare | processor a pod | memory, pods running | after | left |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
${lines.join("\n")}
`;
}

async function measure(agent: NodeAgent, count: number): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
  try {
    const images = makeImages(join(folder, "images"));
    const cluster = await startCluster(draParts(agent), { folder, images, nodes: 1 });
    const admin = await connect(cluster.kubeconfig);
    try {
      return await load(admin, cluster.nodes[0]!, { kubeconfig: cluster.kubeconfig, folder }, count);
    } finally {
      admin.close();
      await cluster.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function load(
  admin: Client,
  node: RealNode,
  { kubeconfig, folder }: { readonly kubeconfig: string; readonly folder: string },
  count: number,
): Promise<Result> {
  const stopDriver = await startDriver(node, kubeconfig, folder, count);
  try {
    await eventually("the devices are published", async () => {
      const { items } = await admin.resource(ResourceSlice).list();
      return items.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0) === count;
    });
    await admin.resource(DeviceClass).create({
      metadata: { name: driver },
      spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
    });
    await admin.resource(ResourceClaimTemplate).create({
      metadata: { namespace, name: "gpu" },
      spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: driver } }] } } },
    });
    // Caches that the first pod fills are not leaks.
    await round(admin, 2);
    await sleep(2000);
    const before = state(node);
    const started = await run(admin, count);
    const processes = ownProcesses(node);
    const memory = sum(processes, pss);
    const prepare = await prepareMilliseconds(admin, node.name);
    const deleted = await remove(admin);
    let after = state(node);
    // Folders and logs of pods are collected once in a while, the kubelet's once a minute.
    for (let waited = 0; waited < settling && leaksOf(before, after).length > 0; waited += settlingStep) {
      await sleep(settlingStep);
      after = state(node);
    }
    return {
      started,
      deleted,
      prepare,
      memory,
      after: after.memory,
      processor: after.processor - before.processor,
      leaks: leaksOf(before, after),
    };
  } finally {
    await stopDriver();
  }
}

async function round(admin: Client, count: number): Promise<void> {
  await run(admin, count);
  await remove(admin);
}

/** Seconds from the first request until all pods run. */
async function run(admin: Client, count: number): Promise<number> {
  const pods = admin.resource(Pod);
  const begun = performance.now();
  const indices = Array.from({ length: count }, (_, i) => i);
  const worker = async (): Promise<void> => {
    for (let i = indices.shift(); i !== undefined; i = indices.shift())
      await pods.create({
        metadata: { namespace, name: `pod-${i}` },
        spec: {
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
          containers: [
            {
              name: "c",
              image: "registry.k8s.io/e2e-test-images/busybox:1.37.0-1",
              imagePullPolicy: "IfNotPresent",
              command: ["sleep", "100000"],
              resources: { claims: [{ name: "gpu" }] },
            },
          ],
        },
      });
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  const phase = (): Promise<boolean> =>
    pods
      .list({ namespace })
      .then(({ items }) => items.filter(({ status }) => status?.phase === "Running").length === count);
  await eventually("all pods run", phase, timeoutSeconds * 1000);
  return (performance.now() - begun) / 1000;
}

/** Seconds until all pods are gone. */
async function remove(admin: Client): Promise<number> {
  const pods = admin.resource(Pod);
  const begun = performance.now();
  await pods.deleteCollection({ namespace });
  await eventually(
    "all pods are gone",
    async () => (await pods.list({ namespace })).items.length === 0,
    timeoutSeconds * 1000,
  );
  return (performance.now() - begun) / 1000;
}

async function startDriver(
  node: RealNode,
  kubeconfig: string,
  folder: string,
  devices: number,
): Promise<() => Promise<void>> {
  const words = [process.execPath, ...process.execArgv, ...(await drayProgram(["driver", "example"]))];
  const { start } = await import("../interop/processes.ts");
  const program = start("driver", ["nsenter", ...node.enter, ...words], join(folder, "driver.log"), {
    ...process.env,
    NODE_NAME: node.name,
    KUBECONFIG: kubeconfig,
    NUM_DEVICES: `${devices}`,
    CDI_ROOT: "/var/run/cdi",
  });
  writeFileSync(join(folder, "driver.pid"), `${program.pid}`);
  return () => program.stop();
}

/** The mean of all calls, as the node's metrics have them. */
async function prepareMilliseconds(admin: Client, node: string): Promise<number> {
  const text = await admin.text("GET", `/api/v1/nodes/${node}/proxy/metrics`);
  const value = (suffix: string): number =>
    text
      .split("\n")
      .filter(
        (line) =>
          line.startsWith(`dra_grpc_operations_duration_seconds_${suffix}{`) &&
          line.includes("NodePrepareResources"),
      )
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  return (value("sum") / value("count")) * 1000;
}

/** Resources of the node at one time. */
interface State {
  readonly memory: number;
  readonly processor: number;
  /** How many there are, by kind. */
  readonly counts: Readonly<Record<string, number>>;
}

function state(node: RealNode): State {
  const processes = ownProcesses(node);
  const inside = (path: string): number =>
    Number(
      spawnSync("nsenter", [...node.enter, "sh", "-c", `find ${path} -mindepth 1 2>/dev/null | wc -l`], {
        encoding: "utf8",
      }).stdout,
    );
  const agent = processes.find(({ command }) => /kubelet/.test(command));
  const descriptors = agent === undefined ? [] : descriptorsOf(agent.pid);
  return {
    memory: sum(processes, pss),
    processor: sum(processes, ({ pid }) => processorSeconds(pid)),
    counts: {
      processes: processes.length,
      descriptors: descriptors.length,
      sockets: descriptors.filter((name) => name.startsWith("socket:")).length,
      "pod folders": inside("/var/lib/kubelet/pods"),
      "pod logs": inside("/var/log/pods"),
      "CDI files": inside("/var/run/cdi"),
      "records of Dray": inside(
        "/var/lib/dray/containers /var/lib/dray/sandboxes /var/lib/dray/oci/images/roots",
      ),
      "records of containerd": inside("/run/containerd/io.containerd.runtime.v2.task"),
      interfaces: inside("/sys/class/net"),
      mounts: Number(
        spawnSync("nsenter", [...node.enter, "sh", "-c", "wc -l </proc/self/mountinfo"], { encoding: "utf8" })
          .stdout,
      ),
    },
  };
}

/** Connections come and go. */
const slack: Readonly<Record<string, number>> = { descriptors: 8, sockets: 6 };

function leaksOf(before: State, after: State): string[] {
  return Object.entries(after.counts).flatMap(([kind, count]) => {
    const more = count - (before.counts[kind] ?? 0);
    return more > (slack[kind] ?? 0) ? [`${more} ${kind}`] : [];
  });
}

interface Process {
  readonly pid: number;
  readonly command: string;
}

/** The processes of a node, without those of its pods and the driver. */
function ownProcesses({ programs, enter }: RealNode): Process[] {
  const name = readlinkSync(`/proc/${enter[1]}/ns/mnt`);
  const tops = new Set(programs.slice(1).map(({ pid }) => pid));
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    const pid = Number(entry);
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      const inNode = readlinkSync(`/proc/${pid}/ns/mnt`) === name;
      // Processes of pods have their own mounts, or a known program.
      if ((!inNode && !tops.has(pid)) || /^(sleep|nsenter) |driver example/.test(command)) return [];
      return command === "" ? [] : [{ pid, command }];
    } catch {
      return [];
    }
  });
}

function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

/** Proportional set size in MiB (smaps_rollup of proc(5)). */
function pss({ pid }: Process): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** With those of its children that have ended (proc_pid_stat(5)), in ticks of 10 ms. */
function processorSeconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return 0;
  }
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
