import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { connect as connectTo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { layoutOf } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { freePort } from "@dray/testing/ports";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder, processesWith, start } from "../../testing/program.ts";

/** Starts a cluster without nodes, and offers to run an agent beside it. */
async function withCluster(
  work: (client: Client, startAgent: (...flags: string[]) => ChildProcess, folder: string) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const agents: ChildProcess[] = [];
    try {
      const { code, stderr } = await dray(["up", "--detach", "--nodes", "0", "--data-dir", dataDir]);
      assert.equal(code, 0, stderr);
      const { kubeconfig } = layoutOf(dataDir);
      const { client } = await connect({ kubeconfig }, "test");
      const rootDir = join(folder, "n1");
      const own = ["--node-name", "n1", "--kubeconfig", kubeconfig, "--root-dir", rootDir];
      try {
        await work(
          client,
          (...flags) => {
            const agent = start(["kubelet", ...own, ...flags]);
            agents.push(agent);
            return agent;
          },
          folder,
        );
      } finally {
        client.close();
      }
    } finally {
      for (const agent of agents) agent.kill("SIGKILL");
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
      for (const pid of processesWith(folder)) process.kill(pid, "SIGKILL");
    }
  });
}

async function ready(client: Client): Promise<boolean> {
  const { items } = await client.resource(Node).list();
  return items.some(({ status }) =>
    status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
  );
}

/** Resolves when the agent reports that it runs. */
async function started({ stdout, stderr }: ChildProcess): Promise<void> {
  let log = "";
  for (const output of [stdout, stderr]) output?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  await eventually("the agent runs", () => log.includes("node agent started"));
}

test("SIGINT leaves the pods of a node; SIGTERM ends them where a shutdown is configured", async () => {
  await withCluster(async (client, startAgent) => {
    const flags = ["--shutdown-grace-period", "20s", "--shutdown-grace-period-critical-pods", "5s"];
    const ref = { namespace: "default", name: "web" };
    const first = startAgent(...flags);
    await eventually("the node is ready", () => ready(client));
    await eventually("there is a service account", async () => {
      const command = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done"];
      const spec = { nodeName: "n1", containers: [{ name: "main", image: "any", command }] };
      return client
        .resource(Pod)
        .create({ metadata: ref, spec })
        .then(
          () => true,
          () => false,
        );
    });
    const phase = async (): Promise<string | undefined> =>
      (await client.resource(Pod).get(ref)).status?.phase;
    await eventually("the pod runs", async () => (await phase()) === "Running");
    first.kill("SIGINT");
    await once(first, "exit");
    const before = await client.resource(Pod).get(ref);
    const second = startAgent(...flags);
    await started(second);
    const id = (pod: Pod): string | undefined => pod.status?.containerStatuses?.[0]?.containerID;
    assert.equal(id(await client.resource(Pod).get(ref)), id(before));
    second.kill("SIGTERM");
    const [code] = (await once(second, "exit")) as [number];
    assert.equal(code, 0);
    const { status } = await client.resource(Pod).get(ref);
    assert.deepEqual([status?.phase, status?.reason], ["Failed", "Terminated"]);
  });
});

test("flags of the node: labels, taints, room for pods, logs, static pods, what it listens on", async () => {
  await withCluster(async (client, startAgent, folder) => {
    const manifests = join(folder, "manifests");
    mkdirSync(manifests);
    const command = ["sh", "-c", "yes | head -c 3000000; sleep 1000"];
    const spec = { containers: [{ name: "main", image: "any", command }] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "static" }, spec };
    writeFileSync(join(manifests, "static.yaml"), JSON.stringify(pod));
    const agent = startAgent(
      ...["--node-labels", "zone=a,node.kubernetes.io/pool=b", "--node-labels", "disk=ssd"],
      ...["--register-with-taints", "gpu=yes:NoSchedule,away:PreferNoSchedule"],
      ...["--max-pods", "7", "--pod-manifest-path", manifests, "--pod-max-pids", "50"],
      ...["--container-log-max-size", "1Mi", "--container-log-max-files", "2"],
      // Another node of the machine may have the default port at 127.0.0.1.
      ...[
        "--address",
        "127.0.0.7",
        "--port",
        String(await freePort()),
        "--dra-wipe-delay",
        "1m",
        "--topology-manager-policy",
        "best-effort",
      ],
    );
    await started(agent);
    const node = await client.resource(Node).get({ name: "n1" });
    const { labels = {} } = node.metadata;
    assert.deepEqual([labels["zone"], labels["node.kubernetes.io/pool"], labels["disk"]], ["a", "b", "ssd"]);
    const taints = (node.spec.taints ?? []).filter(({ key }) => !key.startsWith("node.kubernetes.io/"));
    assert.deepEqual(
      taints.map(({ key, value = "", effect }) => `${key}=${value}:${effect}`),
      ["gpu=yes:NoSchedule", "away=:PreferNoSchedule"],
    );
    assert.deepEqual([node.status?.capacity?.["pods"], node.status?.allocatable?.["pods"]], ["7", "7"]);
    const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    await assert.rejects(connected("127.0.0.1", port), { code: "ECONNREFUSED" });
    await connected("127.0.0.7", port);
    const ref = { namespace: "default", name: "static-n1" };
    await eventually("the static pod runs", async () => {
      const { items } = await client.resource(Pod).list();
      return items.some(({ metadata, status }) => metadata.name === ref.name && status?.phase === "Running");
    });
    // The agent checks every ten seconds.
    await eventually("its log is rotated", () => logsOf(join(folder, "n1/var/log/pods")).length === 2);
  });
});

async function connected(host: string, port: number): Promise<void> {
  const socket = connectTo({ host, port });
  await once(socket, "connect").finally(() => socket.destroy());
}

/** Returns the names of the log files of containers. */
function logsOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.log/.test(name));
}
