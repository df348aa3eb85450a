import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { layoutOf, readNodeStates } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder } from "../../testing/program.ts";

test("a node that cannot start keeps no cluster from starting, says why, and comes when it can", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const layout = layoutOf(dataDir);
    const damaged = join(layout.nodeRoot(1), "var/lib/kubelet/dra_manager_state");
    mkdirSync(dirname(damaged), { recursive: true });
    writeFileSync(damaged, '{"Data":"{}","Checksum":1}');
    try {
      const { code, stdout, stderr } = await dray(["up", "--detach", "--nodes", "2", "--data-dir", dataDir]);
      assert.equal(code, 0, stderr);
      assert.match(
        stdout,
        /Node worker-2 could not be started and is tried again: \S+dra_manager_state is damaged/,
      );
      const states = (wanted: string) => async (): Promise<boolean> =>
        readNodeStates(layout)
          ?.map(({ node, state }) => `${node} ${state}`)
          .join() === wanted;
      await eventually("the states are told", states("worker-1 running,worker-2 failed"));
      assert.match(readNodeStates(layout)?.[1]?.reason ?? "", /dra_manager_state is damaged/);
      const problem = await dray(["status", "--data-dir", dataDir]);
      assert.equal(problem.code, 1);
      assert.match(
        problem.stdout,
        /node worker-2 is not ready: AgentFailed: \S+dra_manager_state is damaged: .* \(its agent is started again/,
      );
      const { client } = await connect({ kubeconfig: layout.kubeconfig }, "test");
      try {
        const { status } = await client.resource(Node).get({ name: "worker-2" });
        const ready = status?.conditions?.find(({ type }) => type === "Ready");
        assert.equal(ready?.status, "False");
        assert.match(ready?.message ?? "", /dra_manager_state is damaged/);
      } finally {
        client.close();
      }
      rmSync(damaged);
      await eventually("all is well", async () => (await dray(["status", "--data-dir", dataDir])).code === 0);
      await eventually("the states are told", states("worker-1 running,worker-2 running"));
      assert.equal((await dray(["down", "--data-dir", dataDir])).code, 0);
      assert.equal(existsSync(layout.nodesFile), false);
      assert.equal(readNodeStates(layout), undefined);
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("down lets the processes of pods end by themselves", async () => {
  await inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const said = join(folder, "said");
    try {
      assert.equal((await dray(["up", "--detach", "--nodes", "1", "--data-dir", dataDir])).code, 0);
      const { client } = await connect({ kubeconfig: layoutOf(dataDir).kubeconfig }, "test");
      const command = ["sh", "-c", `trap 'echo goodbye >${said}; exit' TERM; while true; do sleep 0.1; done`];
      const ref = { namespace: "default", name: "polite" };
      await client.resource(Pod).create({
        metadata: ref,
        spec: {
          containers: [
            {
              name: "main",
              image: "busybox",
              command,
              volumeMounts: [{ name: "folder", mountPath: folder }],
            },
          ],
          volumes: [{ name: "folder", hostPath: { path: folder } }],
        },
      });
      await eventually(
        "it runs",
        async () => (await client.resource(Pod).get(ref)).status?.phase === "Running",
      );
      client.close();
      assert.equal((await dray(["down", "--data-dir", dataDir])).code, 0);
      assert.ok(existsSync(said));
    } finally {
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
    }
  });
});

test("dray kubelet ends with the reason if none of its nodes can start", async () => {
  await inFolder(async (folder) => {
    const root = join(folder, "n");
    const damaged = join(root, "var/lib/kubelet/dra_manager_state");
    mkdirSync(dirname(damaged), { recursive: true });
    writeFileSync(damaged, "{}");
    const kubeconfig = join(folder, "kubeconfig");
    const cluster = { name: "c", cluster: { server: "http://127.0.0.1:1" } };
    const context = { name: "c", context: { cluster: "c", user: "c" } };
    const users = [{ name: "c", user: {} }];
    writeFileSync(
      kubeconfig,
      JSON.stringify({ clusters: [cluster], contexts: [context], users, "current-context": "c" }),
    );
    const { code, stderr } = await dray([
      ...["kubelet", "--node-name", "a", "--kubeconfig", kubeconfig, "--root-dir", root],
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /error: node a cannot start: \S+dra_manager_state is damaged/);
  });
});
