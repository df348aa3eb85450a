import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventuallyPasses } from "@dray/testing/eventually";
import { containerIdentity, untilPrinted } from "./pod.ts";
import type { Rule } from "./rule.ts";

/** Rules of the life of a container. */
export function containerRules(rule: Rule): void {
  rule("a container is created, runs and ends with its exit code", async (pod) => {
    await pod.run();
    const { id, logPath } = await pod.create("read line < /dev/null; exit 3", { attempt: 2 });
    const created = await pod.find(id);
    assert.equal(created.state, "created");
    assert.equal(created.sandboxId, pod.sandboxId);
    assert.deepEqual(containerIdentity(created.config), {
      name: "c0",
      attempt: 2,
      hash: "hash",
      logPath,
      terminationLog: "",
    });
    assert.deepEqual([created.startedAt, created.exitCode], [undefined, undefined]);
    const before = Date.now();
    await pod.node.service.startContainer(id);
    const exited = await pod.exited(id);
    assert.deepEqual([exited.exitCode, exited.reason], [3, "Error"]);
    assert.ok(
      (exited.startedAt ?? 0) >= before - 1000 && (exited.finishedAt ?? 0) >= (exited.startedAt ?? 0),
    );
    const fine = await pod.ended("exit 0");
    assert.deepEqual([fine.container.exitCode, fine.container.reason], [0, "Completed"]);
    await pod.node.service.removeContainer(id);
    const left = await pod.node.service.listContainers(pod.uid);
    assert.deepEqual(
      left.map((each) => each.id),
      [fine.container.id],
    );
  });

  rule("the image of a container is known by the reference that images have", async (pod) => {
    await pod.run();
    const { id } = await pod.create("exit 0");
    const image = await pod.node.images.imageStatus(pod.machine.image, true);
    assert.equal((await pod.find(id)).imageRef, image?.ref);
  });

  rule("a stop is SIGTERM, and SIGKILL after the grace", async (pod) => {
    await pod.run();
    const polite = await pod.start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done");
    const rude = await pod.start("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    for (const { logPath } of [polite, rude]) await untilPrinted(pod.node, logPath, "ready\n");
    await Promise.all([
      pod.node.service.stopContainer(polite.id, 30_000),
      pod.node.service.stopContainer(rude.id, 1000),
    ]);
    const ended = [await pod.find(polite.id), await pod.find(rude.id)];
    assert.deepEqual(
      ended.map(({ state, exitCode }) => [state, exitCode]),
      [
        ["exited", 7],
        ["exited", 137],
      ],
    );
  });

  rule("what its program left behind ends with a container", async (pod) => {
    await pod.run();
    mkdirSync(join(pod.folder, "v"));
    const mounts = [{ hostPath: join(pod.folder, "v"), containerPath: "/v", readOnly: false }];
    const { id } = await pod.start(
      "(while :; do echo x >> $V/alive; sleep 0.05; done) & until [ -e $V/alive ]; do :; done",
      {
        env: [["V", "/v"]],
        mounts,
      },
    );
    await pod.exited(id);
    await pod.node.service.stopContainer(id, 0);
    const size = () => readFileSync(join(pod.folder, "v/alive"), { flag: "a+" }).length;
    const first = size();
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(size(), first);
  });

  rule("changes of a container are reported with the UID of its pod", async (pod) => {
    await pod.run();
    const changed = new Set<string>();
    const stop = pod.node.service.onChange((uid) => changed.add(uid));
    const { id } = await pod.start("sleep 0.5");
    await pod.exited(id);
    await eventuallyPasses(async () => assert.ok(changed.has(pod.uid)));
    changed.clear();
    const other = await pod.start("sleep 0.5");
    await eventuallyPasses(async () => assert.ok(changed.has(pod.uid)));
    stop();
    await pod.exited(other.id);
    changed.clear();
    await pod.ended("exit 0");
    assert.equal(changed.size, 0);
  });
}
