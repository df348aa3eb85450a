import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { NodeRuntime } from "../../runtime/service.ts";
import { attachRules, execRules } from "./command-rules.ts";
import { fileRules, programRules } from "./configuration-rules.ts";
import { containerRules } from "./container-rules.ts";
import { logRules } from "./log-rules.ts";
import { networkRules } from "./network-rules.ts";
import { ContractPod, collect, containerIdentity, textOf } from "./pod.ts";
import { processRules } from "./process-rules.ts";
import { resourceRules } from "./resource-rules.ts";
import type { Rule } from "./rule.ts";
import { sandboxRules } from "./sandbox-rules.ts";
import { subPathRules } from "./sub-path-rules.ts";
import type { ContractMachine, ContractOptions, Lacking } from "./types.ts";

/** Contract of all runtimes of the agent. */
export function runtimeContract(name: string, { cannot = {}, skip, begin }: ContractOptions): void {
  describe(`${name}: the contract of runtimes`, { skip: skip ?? false }, () => {
    let machine: ContractMachine;
    let node: NodeRuntime;

    before(async () => {
      machine = await begin();
      node = machine.open();
      await node.service.start();
    });
    after(async () => {
      await node?.service.close();
      await machine?.close();
    });

    const rule: Rule = (title, body, ability) => {
      // Abilities that the runtime lacks.
      if (ability !== undefined && cannot[ability] !== undefined) return;
      test(title, async () => {
        const pod = new ContractPod(machine, node);
        try {
          await body(pod);
        } finally {
          await pod.remove();
        }
      });
    };

    describe("side by side", { concurrency: 4 }, () => rules(rule, cannot));

    rule("an agent that comes back knows everything, and goes on", async (pod) => {
      await pod.run({ attempt: 1 });
      const go = join(pod.folder, "go");
      mkdirSync(go);
      const mounts = [{ hostPath: go, containerPath: "/go", readOnly: true }];
      const running = await pod.start("echo on; sleep 1000");
      const ending = await pod.start("until [ -e $GO/on ]; do sleep 0.05; done; echo over; exit 8", {
        env: [["GO", "/go"]],
        mounts,
      });
      const before = await node.service.listContainers(pod.uid);
      await node.service.close();
      writeFileSync(join(go, "on"), "");
      await new Promise((resolve) => setTimeout(resolve, 500));
      node = machine.open();
      await node.service.start();
      pod.node = node;
      const [sandbox] = await node.service.listPodSandboxes(pod.uid);
      assert.deepEqual([sandbox?.id, sandbox?.ready, sandbox?.config.attempt], [pod.sandboxId, true, 1]);
      const ended = await pod.exited(ending.id);
      assert.equal(ended.exitCode, 8);
      const known = before.find(({ id }) => id === running.id);
      assert.deepEqual(
        containerIdentity((await pod.find(running.id)).config),
        known && containerIdentity(known.config),
      );
      assert.equal((await pod.find(running.id)).state, "running");
      assert.equal(textOf(await collect(node.service.readLog(ending.logPath))), "over\n");
      const third = await pod.create("echo third", {
        name: "third",
        logPath: join(pod.folder, "logs/third.log"),
      });
      await node.service.startContainer(third.id);
      assert.equal((await pod.exited(third.id)).exitCode, 0);
    });
  });
}

/** Rules that can run concurrently. */
function rules(rule: Rule, cannot: Lacking): void {
  sandboxRules(rule);
  containerRules(rule);
  programRules(rule);
  fileRules(rule, cannot);
  subPathRules(rule, cannot);
  resourceRules(rule);
  logRules(rule);
  execRules(rule, cannot);
  attachRules(rule);
  networkRules(rule);
  processRules(rule);
}
