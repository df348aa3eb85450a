import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { dray, inFolder } from "../../testing/program.ts";

const packing = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
`;

test("up --scheduler-config: its profiles schedule; kept until none; another one needs a stop", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const file = join(folder, "scheduler.yaml");
    writeFileSync(file, packing);
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await dray([...args, ...data]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    /** Returns the node of a pod of the profile. */
    const placed = async (name: string): Promise<unknown> => {
      const { connection } = await loadKubeconfig({ file: join(folder, "data", "kubeconfig") });
      const transport = httpsTransport(connection);
      const client = createClient({ transport, userAgent: "test" });
      try {
        const pods = client.resource(Pod);
        const key = { name, namespace: "default" };
        await pods.create({
          metadata: key,
          spec: { schedulerName: "packing", containers: [{ name: "main", image: "pause" }] },
        });
        let node: string | undefined;
        await eventually(`${name} has a node`, async () => {
          node = (await pods.get(key)).spec?.nodeName;
          return node !== undefined;
        });
        return node;
      } finally {
        client.close();
      }
    };
    try {
      await run("up", "--detach", "--nodes", "1", "--scheduler-config", file);
      assert.equal(await placed("first"), "worker-1");
      const other = join(folder, "other.yaml");
      writeFileSync(other, packing.replace("packing", "other"));
      const refused = await dray(["up", "--detach", "--scheduler-config", other, ...data]);
      assert.equal(refused.code, 2);
      assert.ok(
        refused.stderr.includes(
          `--scheduler-config: the cluster in ${join(folder, "data")} runs with ${file} as it was`,
        ),
        refused.stderr,
      );
      await run("down");
      // The cluster has its own copy.
      writeFileSync(file, "profiles: {}");
      await run("up", "--detach");
      assert.equal(await placed("second"), "worker-1");
      await run("down");
      const wrong = await dray(["up", "--detach", "--scheduler-config", file, ...data]);
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, /scheduler\.yaml:\n {2}.*profiles/s);
      await run("up", "--detach", "--nodes", "0", "--scheduler-config", "none");
      const config = JSON.parse(readFileSync(join(folder, "data", "cluster.json"), "utf8")) as object;
      assert.ok(!("schedulerConfig" in config));
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
  }));
