import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { ContainerConfig } from "../runtime/config.ts";
import { testRuntime } from "../testing/agent.ts";
import { podBecomes, podOn, testCluster } from "../testing/cluster.ts";

test("a container that a killed agent created and did not start goes with its pod", async () => {
  const cluster = await testCluster();
  const { admin } = cluster;
  try {
    await admin.resource(ServiceAccount).create({ metadata: { namespace: "default", name: "default" } });
    const root = cluster.rootDir("n1");
    mkdirSync(root);
    const start = () => cluster.node("n1", { stateDir: `${root}/runtime`, isolation: "plain" });
    let node = await start();
    // One is past its deadline before the agent stops, one after.
    for (const name of ["deleted", "past", "late"]) {
      const containers = [{ name: "main", command: ["sleep", "1000"] }];
      const deadline = name === "deleted" ? {} : { activeDeadlineSeconds: 1 };
      await admin.resource(Pod).create(podOn("n1", name, { containers, ...deadline }));
      const ref = { namespace: "default", name };
      const [phase, reason] = name === "past" ? ["Failed", "DeadlineExceeded"] : ["Running"];
      await podBecomes(admin, ref, ({ status }) => status?.phase === phase && status?.reason === reason);
    }
    await node.stop({ leavePods: true });
    const runtime = testRuntime(root, "plain");
    await runtime.start();
    for (const { id, sandboxId, config } of await runtime.listContainers()) {
      await runtime.removeContainer(id);
      await runtime.createContainer(sandboxId, config as ContainerConfig);
    }
    assert.deepEqual(
      (await runtime.listContainers()).map(({ state }) => state),
      ["created", "created", "created"],
    );
    await runtime.close();
    await admin.resource(Pod).delete({ namespace: "default", name: "deleted" });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    node = await start();
    await eventuallyPasses(async () => {
      const { items } = await admin.resource(Pod).list({ namespace: "default" });
      assert.deepEqual(
        items.map(({ metadata, status }) => [metadata.name, status?.phase, status?.reason]),
        [
          ["late", "Failed", "DeadlineExceeded"],
          ["past", "Failed", "DeadlineExceeded"],
        ],
      );
    });
  } finally {
    await cluster.close();
  }
});
