import assert from "node:assert/strict";
import { eventuallyPasses } from "@dray/testing/eventually";
import { ContractPod } from "./pod.ts";
import type { Rule } from "./rule.ts";

/** Prints the programs of these tests that the container sees. */
const sleeping =
  "for one in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$one 2>/dev/null; echo; done | grep '^sleep 1234'";

/** Rules of process name spaces. */
export function processRules(rule: Rule): void {
  rule(
    "containers see their own processes, or the pod's if they share them",
    async (pod) => {
      await pod.run({ shareProcessNamespace: true });
      await pod.start("exec sleep 12345");
      await eventuallyPasses(async () => assert.match((await pod.ended(sleeping)).output, /sleep 12345/));
      const alone = new ContractPod(pod.machine, pod.node);
      try {
        await alone.run();
        await alone.start("exec sleep 12345");
        assert.equal((await alone.ended(sleeping)).output, "");
      } finally {
        await alone.remove();
      }
    },
    "private processes",
  );

  rule("a container sees the processes of its target, which runs on when it ends", async (pod) => {
    await pod.run();
    const { id } = await pod.start("exec sleep 12346", { name: "app" });
    const target = { id, name: "app" };
    await eventuallyPasses(async () =>
      assert.match((await pod.ended(sleeping, { target })).output, /sleep 12346/),
    );
    const watching = await pod.start("exec sleep 12347", { target });
    await eventuallyPasses(async () => {
      const { output } = await pod.node.service.execSync(watching.id, ["sh", "-c", sleeping], 10_000);
      for (const one of [/sleep 12346/, /sleep 12347/]) assert.match(output, one);
    });
    await pod.node.service.stopContainer(watching.id, 0);
    assert.equal((await pod.find(id)).state, "running");
  });

  rule(
    "a container ends with its target, and does not start without it",
    async (pod) => {
      await pod.run();
      const { id } = await pod.start("exec sleep 12348", { name: "app" });
      const target = { id, name: "app" };
      const watching = await pod.start("exec sleep 12349", { target });
      await pod.node.service.stopContainer(id, 0);
      assert.equal((await pod.exited(watching.id)).exitCode, 137);
      await assert.rejects(pod.start("exit 0", { target }), /not run/);
    },
    "private processes",
  );
}
