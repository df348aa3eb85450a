import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigMap, Node, Pod } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { layoutOf, runningProcess } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder, output, processesWith, start } from "../../testing/program.ts";

async function up(dataDir: string, ...flags: string[]): Promise<void> {
  const { code, stderr } = await dray(["up", "--detach", "--data-dir", dataDir, ...flags]);
  assert.equal(code, 0, stderr);
}

async function withClient<T>(dataDir: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { client } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

function assertNothingLeft(dataDir: string): void {
  assert.deepEqual(processesWith(dataDir), []);
  const { runDir, processFile, agentsFile } = layoutOf(dataDir);
  for (const path of [runDir, processFile, agentsFile]) assert.equal(existsSync(path), false, path);
}

const pod = { namespace: "default", name: "sleeper" };

async function startPod(client: Client, dataDir: string): Promise<void> {
  // The data directory in its environment identifies its cluster.
  const container = {
    name: "c",
    image: "busybox",
    command: ["sleep", "1000"],
    env: [{ name: "DATA", value: dataDir }],
  };
  await client.resource(Pod).create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: pod,
    spec: { containers: [container], terminationGracePeriodSeconds: 1 },
  });
}

const podRuns = (client: Client) => async (): Promise<boolean> => {
  const { status } = await client.resource(Pod).get(pod);
  return status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false;
};

test("a cluster starts, says how it is, refuses a second start, stops and continues", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const copy = join(folder, "copy.kubeconfig");
    try {
      await up(dataDir, "--nodes", "1", "--kubeconfig", copy);
      const { pid } = runningProcess(layoutOf(dataDir).processFile)!;
      const data = ["--data-dir", dataDir];
      const [text, json, kubeconfig, again] = await Promise.all([
        dray(["status", ...data]),
        dray(["status", "-o", "json", ...data]),
        dray(["status", "-o", "kubeconfig", ...data]),
        dray(["up", ...data]),
      ]);
      assert.equal(text.code, 0);
      assert.match(text.stdout, /\nworker-1 +Ready\n/);
      const facts = JSON.parse(json.stdout) as Record<string, unknown>;
      assert.equal(facts["running"], true);
      assert.equal(kubeconfig.stdout, `${join(dataDir, "kubeconfig")}\n`);
      assert.equal(readFileSync(copy, "utf8"), readFileSync(join(dataDir, "kubeconfig"), "utf8"));
      // As a script that does not know whether it runs.
      assert.equal(again.code, 0, again.stderr);
      assert.match(again.stdout, /^Cluster \S+ is running: Kubernetes \S+ at https:/);
      assert.ok(again.stdout.includes(join(dataDir, "kubeconfig")), again.stdout);
      assert.equal(runningProcess(layoutOf(dataDir).processFile)?.pid, pid);

      await withClient(dataDir, (client) =>
        client.resource(ConfigMap).create({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace: "default", name: "kept" },
          data: { a: "b" },
        }),
      );
      const down = await dray(["down", ...data]);
      assert.equal(down.stdout, `the cluster in ${dataDir} has stopped; its data stays\n`);
      assertNothingLeft(dataDir);
      assert.equal((await dray(["status", ...data])).code, 1);

      // The former nodes are gone.
      await up(dataDir, "--nodes", "0");
      await withClient(dataDir, async (client) => {
        const kept = await client.resource(ConfigMap).get({ namespace: "default", name: "kept" });
        assert.deepEqual(kept.data, { a: "b" });
        assert.deepEqual((await client.resource(Node).list()).items, []);
      });
      const after = JSON.parse((await dray(["status", "-o", "json", ...data])).stdout) as typeof facts;
      assert.equal(after["server"], facts["server"]);

      // An empty database beside the data of a cluster is not a new cluster.
      await dray(["down", ...data]);
      writeFileSync(join(dataDir, "state.db"), "");
      const lost = await dray(["up", "--detach", ...data]);
      assert.equal(lost.code, 1);
      assert.match(
        lost.stderr,
        /the store sqlite:.*state\.db is empty or missing, but .* put the store back/,
      );
      assert.equal(statSync(join(dataDir, "state.db")).size, 0);

      // Files of others are kept.
      writeFileSync(join(dataDir, "notes"), "");
      await dray(["down", "--delete-data", ...data]);
      assert.deepEqual(readdirSync(dataDir), ["notes"]);
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("only its owner can read the keys and objects of a cluster, and write its folders", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    try {
      await up(dataDir, "--nodes", "1");
      const open: string[] = [];
      for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        const { mode } = statSync(path);
        const secret = entry.isDirectory() || /\.key$|kubeconfig$|state\.db(-wal|-shm)?$|\.json$/.test(path);
        if (mode & (secret ? 0o077 : 0o022)) open.push(`${path} ${(mode & 0o777).toString(8)}`);
      }
      assert.deepEqual(open, []);
      assert.equal(statSync(dataDir).mode & 0o777, 0o700);
      const { runDir, nodeRoot } = layoutOf(dataDir);
      for (const path of [runDir, nodeRoot(0)]) assert.equal(statSync(path).mode & 0o022, 0, path);
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("kill -9 of the control plane or of the agents loses neither objects nor pods; down then leaves nothing", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const { processFile, agentsFile } = layoutOf(dataDir);
    try {
      await up(dataDir, "--nodes", "1");
      await withClient(dataDir, async (client) => {
        await startPod(client, dataDir);
        await eventually("the pod runs", podRuns(client));
      });
      const containers = (): number[] => processesWith(`DATA=${dataDir}`, "sleep");
      const before = containers();
      assert.equal(before.length, 1);

      process.kill(runningProcess(processFile)!.pid, "SIGKILL");
      await eventually("it has ended", () => runningProcess(processFile) === undefined);
      assert.equal((await dray(["status", "--data-dir", dataDir])).code, 1);
      await up(dataDir);
      await withClient(dataDir, async (client) => {
        await eventually("the pod runs on", podRuns(client));
        assert.deepEqual(containers(), before, "the container was not adopted");

        const agents = runningProcess(agentsFile)!;
        process.kill(agents.pid, "SIGKILL");
        await eventually("the agents are started again", () => {
          const now = runningProcess(agentsFile);
          return now !== undefined && now.pid !== agents.pid;
        });
        await client.resource(Pod).delete(pod);
        await eventually("the new agents end the pod", () => containers().length === 0);
        await eventually(
          "the pod is gone",
          async () => (await client.resource(Pod).list()).items.length === 0,
        );
        await startPod(client, dataDir);
        await eventually("the pod runs", podRuns(client));
      });

      process.kill(runningProcess(processFile)!.pid, "SIGKILL");
      const down = await dray(["down", "--data-dir", dataDir]);
      assert.equal(down.code, 0, down.stderr);
      assertNothingLeft(dataDir);
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("Ctrl-C, however often it arrives, stops a cluster in the foreground with its pods", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const child = start(
      ["up", "--nodes", "1", "--store", "memory", "--data-dir", dataDir],
      {},
      { detached: true },
    );
    try {
      const ended = output(child);
      await eventually("it is ready", async () => (await dray(["status", "--data-dir", dataDir])).code === 0);
      await withClient(dataDir, async (client) => {
        await startPod(client, dataDir);
        await eventually("the pod runs", podRuns(client));
      });
      process.kill(-child.pid!, "SIGINT");
      process.kill(-child.pid!, "SIGINT");
      const { code, stdout, stderr } = await ended;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /is ready at https:.*\n(.*\n)*Ctrl-C stops the cluster(.*\n)*Stopping/);
      assertNothingLeft(dataDir);
      assert.equal(existsSync(join(dataDir, "state.db")), false, "the objects were to be in memory");
    } finally {
      child.kill("SIGKILL");
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("Ctrl-C during the start stops what has started", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const child = start(["up", "--detach", "--data-dir", dataDir], {}, { detached: true });
    try {
      const ended = output(child);
      await eventually("the agents start", () => existsSync(layoutOf(dataDir).agentsFile));
      process.kill(-child.pid!, "SIGINT");
      const { code, stderr } = await ended;
      assert.equal(code, 1);
      assert.match(stderr, /the start was interrupted/);
      assertNothingLeft(dataDir);
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("a port that is in use is named, and nothing is left", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    for (const detach of [[], ["--detach"]]) {
      const { code, stderr } = await dray(["up", ...detach, "--data-dir", dataDir, "--port", `${port}`]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(`^error: port ${port} of 127.0.0.1 is in use by another program: choose one with --port`),
      );
      assertNothingLeft(dataDir);
      // The port is not stored, either.
      assert.equal(existsSync(join(dataDir, "cluster.json")), false);
    }
  });
  other.close();
});
