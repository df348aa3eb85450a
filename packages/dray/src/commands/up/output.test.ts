import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Node } from "@dray/api/core/v1";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { parse } from "yaml";
import { dray, inFolder, output, start } from "../../testing/program.ts";

test("up -o prints what a test needs, and nothing else on standard output", () =>
  inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const kubeconfig = join(folder, "config");
    const data = ["--data-dir", dataDir, "--name", "ci"];
    try {
      const up = ["up", "--detach", "--nodes", "1", "--store", "memory", ...data];
      const { code, stdout, stderr } = await dray([...up, "--kubeconfig", kubeconfig, "-o", "json"]);
      assert.equal(code, 0, stderr);
      const facts = JSON.parse(stdout);
      const { server, certificateAuthority, processes } = facts;
      assert.deepEqual(
        [facts.name, facts.state, facts.dataDir, facts.kubeconfig, facts.context, facts.logs],
        ["ci", "running", dataDir, kubeconfig, "dray-ci", join(dataDir, "logs")],
      );
      assert.deepEqual(
        facts.nodes.map(({ name, ready }: { name: string; ready: boolean }) => [name, ready]),
        [["worker-1", true]],
      );
      for (const { pid } of processes) process.kill(pid, 0);
      assert.deepEqual(
        processes.map(({ name }: { name: string }) => name),
        ["control-plane", "agents"],
      );
      // Server and authority suffice, with the credentials of the kubeconfig.
      const { connection } = await loadKubeconfig({ file: facts.kubeconfig, context: facts.context });
      assert.equal(connection.server, server);
      const { cert = "", key = "" } = connection;
      const transport = httpsTransport({ server, ca: certificateAuthority, cert, key });
      const client = createClient({ transport, userAgent: "test" });
      assert.equal((await client.resource(Node).list()).items.length, 1);
      client.close();

      const more = await dray(["up", "--nodes", "2", ...data, "-o", "yaml"]);
      assert.deepEqual(
        parse(more.stdout).nodes.map(({ name }: { name: string }) => name),
        ["worker-1", "worker-2"],
      );
      assert.match(more.stderr, /^adding worker-2\nworker-2 added: 2 nodes\n$/);
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
  }));

test("in the foreground it prints the same once the cluster is ready, and stops as ever", () =>
  inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const child = start(["up", "--nodes", "0", "--store", "memory", "--data-dir", dataDir, "-o", "json"]);
    const ended = output(child);
    try {
      let said = "";
      child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      await eventually("it is ready", () => said.endsWith("}\n"));
      assert.equal(JSON.parse(said).running, true);
    } finally {
      child.kill("SIGTERM");
    }
    const { code, stdout, stderr } = await ended;
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).name, "dray");
    assert.match(stderr, /Stopping: the pods end/);
    await dray(["down", "--delete-data", "--data-dir", dataDir]);
  }));
