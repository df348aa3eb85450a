import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { Client } from "@dray/client";
import { layoutOf, runningProcess } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder, output, processesWith, start } from "../../testing/program.ts";

const ready = ({ status }: Node | Pod): boolean =>
  (status?.conditions ?? []).some((c) => c.type === "Ready" && c.status === "True");

/** Starts a pod that takes a second to end and then prints a line. */
async function startPod(client: Client, name: string, node: string, ended: string): Promise<void> {
  const script = `trap 'sleep 1; echo ended > ${ended}; exit 0' TERM; while :; do sleep 0.1; done`;
  await client.resource(Pod).create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name, labels: { app: name } },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node },
      containers: [
        {
          name: "c",
          image: "busybox",
          command: ["sh", "-c", script],
          volumeMounts: [{ name: "folder", mountPath: dirname(ended) }],
        },
      ],
      volumes: [{ name: "folder", hostPath: { path: dirname(ended) } }],
    },
  });
  await eventually(`${name} runs`, async () =>
    ready(await client.resource(Pod).get({ namespace: "default", name })),
  );
}

interface RunningCluster {
  readonly folder: string;
  readonly dataDir: string;
  readonly client: Client;
  /** `dray up --detach` on its data. */
  readonly up: readonly string[];
}

/** Runs a command that must succeed, and returns its output. */
async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await dray(args);
  assert.equal(code, 0, stderr);
  return stdout;
}

const readyNodes = async (client: Client): Promise<string[]> =>
  (await client.resource(Node).list()).items.filter(ready).map(({ metadata }) => metadata.name);

async function drainsRemovedNode({ folder, dataDir, client, up }: RunningCluster): Promise<void> {
  const { runDir } = layoutOf(dataDir);
  const fileOf = (name: string): string => join(folder, `${name}.ended`);
  await startPod(client, "second", "worker-2", fileOf("second"));
  await startPod(client, "third", "worker-3", fileOf("third"));
  const drained = await dray([...up, "--nodes", "2"]);
  assert.equal(drained.code, 0, drained.stderr);
  assert.equal(drained.stderr, "draining worker-3\nworker-3: evicting default/third\n");
  assert.equal(
    drained.stdout,
    "worker-3 removed: 2 nodes (1 pod was evicted; no controller creates default/third again)\n",
  );
  assert.equal(existsSync(fileOf("third")), true, "the pod had no time to end");
  assert.equal(existsSync(fileOf("second")), false);
  assert.deepEqual(await readyNodes(client), ["worker-1", "worker-2"]);
  assert.deepEqual(readdirSync(runDir).sort(), ["0", "1", "control.sock"]);
  assert.deepEqual(
    readdirSync(join(dataDir, "pki")).filter((name) => name.includes("worker-3")),
    [],
  );
  assert.deepEqual(processesWith(fileOf("third")), []);
}

/** A disruption budget blocks a drain; a waiting command can be interrupted. */
async function isInterruptedInDrain({ client, up }: RunningCluster): Promise<void> {
  await client.resource(PodDisruptionBudget).create({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { namespace: "default", name: "keep" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "second" } } },
  });
  const counts = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  await client
    .resource(PodDisruptionBudget)
    .patch(
      { namespace: "default", name: "keep" },
      "merge",
      { status: { observedGeneration: 1, ...counts } },
      { subresource: "status" },
    );
  const waiting = start([...up, "--nodes", "1"]);
  const ended = output(waiting);
  let said = "";
  waiting.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await eventually("the drain is held back", () => said.includes("default/second cannot be evicted yet"));
  const second = (): Promise<Node> => client.resource(Node).get({ name: "worker-2" });
  assert.equal((await second()).spec?.unschedulable, true);
  waiting.kill("SIGINT");
  const { code, stderr } = await ended;
  assert.equal(code, 1);
  assert.match(stderr, /error: interrupted: the nodes are as before\n$/);
  await eventually("it takes pods again", async () => (await second()).spec?.unschedulable !== true);
  assert.equal((await second()).metadata.annotations?.["dray/draining"], undefined);
  assert.ok(ready(await client.resource(Pod).get({ namespace: "default", name: "second" })));
}

async function refusesOtherSettings(folder: string, up: readonly string[]): Promise<void> {
  for (const [flags, message] of [
    [
      ["--port", "1"],
      /^error: --port: the cluster in .* runs with \d+ \(process \d+\): stop it with `dray down --data-dir \S+` first/,
    ],
    [
      ["--kubernetes-version", "1.35", "--nodes", "1"],
      /^error: --kubernetes-version: the cluster in .* runs with "1\.\d+"/,
    ],
  ] as const) {
    const { code, stderr } = await dray([...up, ...flags]);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
  assert.deepEqual(
    await run(...up, "--kubeconfig", join(folder, "config")),
    `context dray is in ${join(folder, "config")}, and current there\n`,
  );
}

test("up --nodes adds nodes to a cluster that runs, and drains the last ones before it removes them", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const data = ["--data-dir", dataDir];
    const up = ["up", "--detach", ...data];
    try {
      await run(...up, "--nodes", "1");
      const { processFile } = layoutOf(dataDir);
      const { pid } = runningProcess(processFile)!;
      const { client } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
      try {
        assert.equal(await run(...up, "--nodes", "3"), "worker-2, worker-3 added: 3 nodes\n");
        assert.deepEqual(await readyNodes(client), ["worker-1", "worker-2", "worker-3"]);
        assert.match(
          await run(...up, "--nodes", "3"),
          /^the cluster has 3 nodes already\nCluster \S+ is running/,
        );

        const cluster = { folder, dataDir, client, up };
        await drainsRemovedNode(cluster);
        await isInterruptedInDrain(cluster);

        // Two commands at once are serialized.
        await client.resource(PodDisruptionBudget).delete({ namespace: "default", name: "keep" });
        await Promise.all([run(...up, "--nodes", "1"), run(...up, "--nodes", "0")]);
        assert.ok((await readyNodes(client)).length < 2);
        await run(...up, "--nodes", "2");
        assert.deepEqual(await readyNodes(client), ["worker-1", "worker-2"]);
        assert.equal(runningProcess(processFile)?.pid, pid, "it is the same cluster");
      } finally {
        client.close();
      }
      const config = JSON.parse(readFileSync(join(dataDir, "cluster.json"), "utf8")) as { nodes: string[] };
      assert.deepEqual(config.nodes, ["worker-1", "worker-2"]);
      await refusesOtherSettings(folder, up);

      // A stopped cluster gets the new number at once.
      await run("down", ...data);
      await run(...up, "--nodes", "1");
      const { client: again } = await connect({ kubeconfig: join(dataDir, "kubeconfig") }, "test");
      const { items } = await again.resource(Node).list();
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ["worker-1"],
      );
      again.close();
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
    assert.deepEqual(processesWith(folder), []);
  });
});
