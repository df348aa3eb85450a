import assert from "node:assert/strict";
import { collect, sandboxIdentity, textOf, untilPrinted } from "./pod.ts";
import type { Rule } from "./rule.ts";

/** Rules of sandboxes and images. */
export function sandboxRules(rule: Rule): void {
  rule("it has a name and a version", async (pod) => {
    assert.match(pod.node.service.name, /^[a-z]/);
    assert.notEqual(pod.node.service.version, "");
  });

  rule("a sandbox is listed with the pod it is for, until it is removed", async (pod) => {
    await pod.run({ attempt: 3 });
    const [sandbox, ...others] = await pod.node.service.listPodSandboxes(pod.uid);
    assert.deepEqual(others, []);
    assert.deepEqual(sandbox && sandboxIdentity(sandbox.config), {
      namespace: "default",
      name: "pod",
      uid: pod.uid,
      attempt: 3,
    });
    assert.equal(sandbox?.ready, true);
    assert.ok(Math.abs(Date.now() - (sandbox?.createdAt ?? 0)) < 60_000);
    assert.ok((await pod.node.service.listPodSandboxes()).some(({ id }) => id === pod.sandboxId));
    assert.deepEqual(await pod.node.service.listPodSandboxes("other"), []);
    await pod.node.service.stopPodSandbox(pod.sandboxId);
    const [stopped] = await pod.node.service.listPodSandboxes(pod.uid);
    assert.equal(stopped?.ready, false);
    await pod.node.service.removePodSandbox(pod.sandboxId);
    assert.deepEqual(await pod.node.service.listPodSandboxes(pod.uid), []);
  });

  rule("to stop and remove twice, or what is not there, is no error", async (pod) => {
    await pod.run();
    const { id } = await pod.start("sleep 1000");
    for (let times = 0; times < 2; times++) {
      await pod.node.service.stopContainer(id, 0);
      await pod.node.service.removeContainer(id);
      await pod.node.service.stopPodSandbox(pod.sandboxId);
    }
    for (let times = 0; times < 2; times++) await pod.node.service.removePodSandbox(pod.sandboxId);
  });

  rule("a sandbox for a handler that the runtime lacks is refused", async (pod) => {
    await assert.rejects(pod.run({ runtimeHandler: "no-such" }), /no runtime for "no-such" is configured/);
  });

  rule("a sandbox that is stopped ends its containers; logs outlive it", async (pod) => {
    await pod.run();
    const { id, logPath } = await pod.start("echo here; sleep 1000");
    await untilPrinted(pod.node, logPath, "here\n");
    await pod.node.service.stopPodSandbox(pod.sandboxId);
    assert.equal((await pod.exited(id)).exitCode, 137);
    await pod.node.service.removePodSandbox(pod.sandboxId);
    assert.deepEqual(await pod.node.service.listContainers(pod.uid), []);
    assert.equal(textOf(await collect(pod.node.service.readLog(logPath))), "here\n");
  });

  rule("images are found by their names, or not at all", async (pod) => {
    const image = await pod.node.images.imageStatus(pod.machine.image, true);
    assert.ok(image !== undefined && image.ref !== "");
    assert.equal(await pod.node.images.imageStatus("localhost/no/such:image", false), undefined);
    await assert.rejects(
      pod.node.images.pullImage("Not A Name", []),
      (error: Error & { reason?: string }) =>
        error.reason === (pod.node.images.pulls ? "InvalidImageName" : "ErrImageNeverPull"),
    );
  });
}
