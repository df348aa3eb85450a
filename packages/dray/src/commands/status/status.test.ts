import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Draft } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { layoutOf, type ProcessRecord, processRecord, runningProcess, thisProcess } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { AgentsFile } from "../../../../cluster/src/nodes/agents-file.ts";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder } from "../../testing/program.ts";
import type { ClusterStatus } from "./cluster.ts";

const env = { NO_COLOR: "1", TZ: "UTC" };

async function json(dataDir: string): Promise<ClusterStatus & { code: number | null }> {
  const { code, stdout, stderr } = await dray(["status", "-o", "json", "--data-dir", dataDir], env);
  assert.equal(stderr, "");
  return { ...(JSON.parse(stdout) as ClusterStatus), code };
}

/** Creates the folder of a cluster that does not run, with the files of its processes. */
function leftBehind(folder: string, process: Partial<ProcessRecord>): string {
  mkdirSync(join(folder, "logs"));
  const config = { name: "left", kubernetesVersion: "1.37", nodes: ["worker-1"], port: 1 };
  writeFileSync(join(folder, "cluster.json"), JSON.stringify(config));
  writeFileSync(join(folder, "process.json"), JSON.stringify(process));
  return folder;
}

const slice = (
  name: string,
  driver: string,
  { pool, node, generation }: { readonly pool: string; readonly node: string; readonly generation: number },
  count: number,
): Draft<ResourceSlice> => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name },
  spec: {
    driver,
    pool: { name: pool, generation, resourceSliceCount: 1 },
    nodeName: node,
    devices: Array.from({ length: count }, (_, i) => ({ name: `d${i}` })),
  },
});

const dataFlags = (dataDir: string): string[] => ["--data-dir", dataDir];

/** Creates slices of two drivers, and cordons a node. */
async function createSlices(dataDir: string): Promise<void> {
  const layout = layoutOf(dataDir);
  const { client } = await connect({ kubeconfig: layout.kubeconfig }, "test");
  const slices = client.resource(ResourceSlice);
  for (const each of [
    slice("a", "gpu.example.com", { pool: "one", node: "worker-1", generation: 1 }, 5),
    slice("b", "gpu.example.com", { pool: "one", node: "worker-1", generation: 2 }, 3),
    slice("c", "gpu.example.com", { pool: "two", node: "worker-2", generation: 1 }, 4),
    slice("d", "nic.example.com", { pool: "one", node: "worker-1", generation: 1 }, 1),
  ])
    await slices.create(each);
  await client.resource(Node).patch({ name: "worker-2" }, "merge", { spec: { unschedulable: true } });
  client.close();
}

async function showsWhatRuns(dataDir: string): Promise<void> {
  const layout = layoutOf(dataDir);
  const well = await json(dataDir);
  assert.deepEqual([well.code, well.state, well.running, well.problems], [0, "running", true, []]);
  assert.deepEqual(
    well.processes.map(({ name, state, pid }) => [name, state, pid]),
    [
      ["control-plane", "running", runningProcess(layout.processFile)?.pid],
      ["agents", "running", runningProcess(layout.agentsFile)?.pid],
    ],
  );
  for (const { memoryBytes, startedAt, log } of well.processes) {
    assert.ok(memoryBytes! > 2 ** 20 && Date.now() - Date.parse(startedAt!) < 600_000);
    assert.ok(existsSync(log), log);
  }
  assert.deepEqual(
    well.nodes.map(({ name, ready, cordoned }) => [name, ready, cordoned]),
    [
      ["worker-1", true, false],
      ["worker-2", true, true],
    ],
  );
  assert.deepEqual(well.drivers, [
    { name: "gpu.example.com", devices: 7, pools: 2, nodes: 2 },
    { name: "nic.example.com", devices: 1, pools: 1, nodes: 1 },
  ]);
  const text = await dray(["status", ...dataFlags(dataDir)], env);
  assert.equal(text.code, 0);
  for (const part of [
    /^Cluster dray is running: Kubernetes 1\.37 at https:\/\/127\.0\.0\.1:\d+\n/,
    /\n {2}logs +\S+\/logs, or `dray logs --data-dir \S+`\n/,
    /\ncontrol-plane +running +\d+ +\d+s +\d+Mi +apiserver, scheduler, controller-manager\n/,
    /\nagents +running +\d+ +\d+s +\d+Mi +kubelet of 2 nodes\n/,
    /\nNODE +STATUS\nworker-1 +Ready\nworker-2 +Ready,SchedulingDisabled\n/,
    /\ngpu\.example\.com +7 +2 +2\n/,
  ])
    assert.match(text.stdout, part);

  // The lines of the real logs name their component.
  const lines = (await dray(["logs", "-o", "json", ...dataFlags(dataDir)])).stdout.trim().split("\n");
  const sources = lines.map((line) => {
    const { component, node } = JSON.parse(line) as { component: string; node?: string };
    return `${component}/${node}`;
  });
  for (const source of ["kubelet/worker-1", "kubelet/worker-2", "cluster/undefined"])
    assert.ok(sources.includes(source), `${source}: ${sources}`);
}

async function showsRestartOfAgents(dataDir: string): Promise<void> {
  const layout = layoutOf(dataDir);
  const agents = runningProcess(layout.agentsFile)!;
  process.kill(agents.pid, "SIGKILL");
  let after = await json(dataDir);
  await eventually("the agents run again", async () => {
    after = await json(dataDir);
    return after.code === 0 && after.processes[1]?.pid !== agents.pid;
  });
  assert.equal(after.processes[1]?.restarts, 1);
  assert.equal(after.processes[1]?.lastEnd?.signal, "SIGKILL");
  assert.match(
    (await dray(["status", ...dataFlags(dataDir)], env)).stdout,
    /agents were started again once; .* with signal SIGKILL \(from somebody, .*\): see \S+agents\.log\n/,
  );
}

async function showsUnresponsiveServer(dataDir: string): Promise<void> {
  const layout = layoutOf(dataDir);
  const controlPlane = runningProcess(layout.processFile)!;
  process.kill(controlPlane.pid, "SIGSTOP");
  const hung = await json(dataDir);
  assert.deepEqual([hung.code, hung.state, hung.running], [1, "unresponsive", false]);
  assert.match(
    hung.problems[0]!,
    /^the API server does not respond: no answer within 5 s; see `dray logs apiserver --data-dir \S+`$/,
  );
  // The last reports of the agents are known.
  assert.deepEqual(
    hung.nodes.map(({ name, ready, cordoned, reason }) => [name, ready, cordoned, reason]),
    [
      ["worker-1", null, null, "AgentRuns"],
      ["worker-2", null, null, "AgentRuns"],
    ],
  );
  assert.match(
    (await dray(["status", ...dataFlags(dataDir)], env)).stdout,
    /\nNODE +STATUS +REASON\nworker-1 +Unknown +AgentRuns\nworker-2 +Unknown +AgentRuns\n/,
  );
}

async function showsDeadCluster(dataDir: string): Promise<void> {
  const layout = layoutOf(dataDir);
  const controlPlane = runningProcess(layout.processFile)!;
  process.kill(controlPlane.pid, "SIGKILL");
  const killed = Date.now();
  await eventually("it has ended", () => runningProcess(layout.processFile) === undefined);
  const dead = await json(dataDir);
  assert.deepEqual([dead.code, dead.state, dead.running], [1, "dead", false]);
  const [{ state, deadSince, pid }] = dead.processes as [ClusterStatus["processes"][number]];
  assert.deepEqual([state, pid], ["dead", undefined]);
  assert.ok(Math.abs(Date.parse(deadSince!) - killed) < 60_000, deadSince);
  let deadText = await dray(["status", ...dataFlags(dataDir)], env);
  // The agents end by themselves a moment later.
  await eventually("the agents have ended", async () => {
    deadText = await dray(["status", ...dataFlags(dataDir)], env);
    return /\nworker-1 +NotReady +AgentStopped\n/.test(deadText.stdout);
  });
  assert.equal(deadText.code, 1);
  assert.match(deadText.stdout, /^Cluster dray is dead: /);
  assert.match(deadText.stdout, /\ncontrol-plane +dead since \d\d:\d\d:\d\d \(\w+ ago\)/);
  assert.ok(deadText.stdout.includes(`see ${join(layout.logs, "control-plane.log")}`));
  assert.match(
    deadText.stdout,
    /`dray up --data-dir \S+` continues the cluster; its pods may still run, and `dray down --data-dir \S+` ends them\.\n$/,
  );
  const path = await dray(["status", "-o", "kubeconfig", ...dataFlags(dataDir)]);
  assert.deepEqual([path.code, path.stdout], [1, `${layout.kubeconfig}\n`]);
  assert.match(path.stderr, /does not run: `dray up --data-dir \S+` continues it\n$/);
}

test("status shows processes, nodes and drivers, also after a kill", () =>
  inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const data = dataFlags(dataDir);
    try {
      const up = await dray(["up", "--detach", "--nodes", "2", ...data]);
      // Progress is shown on terminals only.
      assert.deepEqual([up.code, up.stderr], [0, ""]);
      await createSlices(dataDir);
      await showsWhatRuns(dataDir);
      await showsRestartOfAgents(dataDir);
      await showsUnresponsiveServer(dataDir);
      await showsDeadCluster(dataDir);

      await dray(["down", ...data]);
      const stopped = await json(dataDir);
      assert.deepEqual([stopped.code, stopped.state, stopped.running], [1, "stopped", false]);
      assert.deepEqual(
        stopped.nodes.map(({ ready, reason }) => [ready, reason]),
        [
          [false, "AgentStopped"],
          [false, "AgentStopped"],
        ],
      );
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
  }));

test("a process file that names a living process with another start time or boot is not believed", () =>
  inFolder(async (folder) => {
    const self = thisProcess();
    const dataDir = leftBehind(folder, { ...self, startTime: 1, phase: "ready" });
    utimesSync(join(folder, "process.json"), 1000, 1000);
    const reused = await json(dataDir);
    assert.deepEqual([reused.code, reused.state], [1, "dead"]);
    assert.equal(reused.processes[0]?.deadSince, "1970-01-01T00:16:40.000Z");

    writeFileSync(join(folder, "process.json"), JSON.stringify({ ...self, bootId: "another" }));
    const boot = await json(dataDir);
    assert.equal(boot.processes[0]?.reason, "the machine was started anew");

    writeFileSync(join(folder, "process.json"), "{");
    const damaged = await json(dataDir);
    assert.deepEqual(
      [damaged.state, damaged.processes[0]?.reason],
      ["dead", `${join(folder, "process.json")} is damaged`],
    );
  }));

test("status shows agents as dead, starting or running", () =>
  inFolder(async (folder) => {
    const dataDir = leftBehind(folder, {});
    // Replaces the control plane.
    const child: ChildProcess = spawn("sleep", ["100"]);
    try {
      writeFileSync(
        join(folder, "process.json"),
        JSON.stringify({ ...processRecord(child.pid!), phase: "ready" }),
      );
      const agents = new AgentsFile(join(folder, "agents.json"));
      agents.started(child.pid!);
      assert.equal((await json(dataDir)).processes[1]?.state, "starting");
      agents.ready();
      assert.equal((await json(dataDir)).processes[1]?.state, "running");
      agents.ended(7, null);
      const { at } = (
        JSON.parse(readFileSync(join(folder, "agents.json"), "utf8")) as { lastEnd: { at: string } }
      ).lastEnd;
      const found = await json(dataDir);
      assert.equal(found.code, 1);
      const { state, deadSince, reason } = found.processes[1]!;
      assert.deepEqual([state, deadSince, reason], ["dead", at, "it ended with exit code 7"]);
      assert.ok(
        found.problems.some((problem) =>
          /node agents is dead: it ended with exit code 7, and is started again; see \S+agents\.log, and up\.log/.test(
            problem,
          ),
        ),
        `${found.problems}`,
      );
    } finally {
      child.kill("SIGKILL");
    }
  }));
