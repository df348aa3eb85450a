import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Rule } from "./rule.ts";

/** Rules of bounds and usage. */
export function resourceRules(rule: Rule): void {
  rule(
    "a container that needs more memory than it may have is OOMKilled",
    async (pod) => {
      await pod.run();
      const resources = { memoryLimitBytes: 20 << 20 };
      const { container } = await pod.ended(
        "head -c 100000000 /dev/zero | tail -c 90000000 > /dev/null; exit 9",
        {
          command: ["sh", "-c", "exec tail -c 90000000 /dev/zero"],
          resources,
        },
      );
      assert.deepEqual([container.exitCode, container.reason], [137, "OOMKilled"]);
    },
    "bounds of resources",
  );

  rule(
    "bounds are changed while a container runs",
    async (pod) => {
      await pod.run();
      const { id } = await pod.start("sleep 1000", { resources: { cpuShares: 512, cpusetCpus: "0" } });
      const cpus = async () => {
        const command = ["grep", "Cpus_allowed_list", "/proc/1/status"];
        return (await pod.node.service.execSync(id, command, 10_000)).output.split("\t")[1]?.trim();
      };
      assert.equal(await cpus(), "0");
      if (availableParallelism() < 2) return;
      await pod.node.service.updateContainerResources(id, { cpusetCpus: "1" });
      assert.equal(await cpus(), "1");
    },
    "bounds of resources",
  );

  rule(
    "the usage of a container is reported",
    async (pod) => {
      await pod.run();
      const { id } = await pod.start("while :; do :; done");
      await eventuallyPasses(async () => {
        const all = await pod.node.service.listContainerStats();
        const stats = all.find(({ containerId }) => containerId === id);
        assert.ok((stats?.cpuNanoseconds ?? 0) > 0, "no CPU time");
        assert.ok((stats?.memoryWorkingSetBytes ?? 0) > 0, "no memory");
        assert.ok(Math.abs(Date.now() - (stats?.at ?? 0)) < 60_000);
      });
    },
    "statistics",
  );
}
