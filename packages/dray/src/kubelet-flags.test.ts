import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { layoutOf } from "@dray/cluster";
import { connect } from "./connect.ts";
import { dray, eventually, inFolder, processesWith, start } from "./testing.ts";

/** A cluster without nodes, and a way to run an agent beside it. */
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

/** Resolves when the agent says that it runs. */
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
