import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { silentLog, systemClock } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { ContractPod } from "../../testing/runtime-contract/pod.ts";
import type { ContractMachine } from "../../testing/runtime-contract/types.ts";
import { TestContainerd, testImage, withoutContainerd } from "../../testing/test-containerd.ts";
import { CriRuntime } from "./runtime.ts";

describe("a CRI runtime", { skip: withoutContainerd ?? false }, () => {
  const suite = createSuite();
  sharingTests(suite);
  imageTests(suite);
});

/** A containerd that runs during the tests, with an agent's runtime on it. */
type Suite = ReturnType<typeof createSuite>;

function createSuite() {
  const containerd = new TestContainerd();
  const open = (node: string) => {
    const { socket: endpoint, cgroupRoot } = containerd;
    const service = new CriRuntime({ endpoint, node, clock: systemClock, log: silentLog, cgroupRoot });
    return { service, images: service.images };
  };
  const machine: ContractMachine = {
    folder: containerd.folder,
    image: testImage,
    cdi: containerd.cdi,
    open: () => open("node"),
    close: () => containerd.close(),
  };
  const node = machine.open();

  before(async () => {
    await containerd.start();
    await node.service.start();
  });
  after(async () => {
    await node.service.close();
    await machine.close();
  });

  async function inPod(body: (pod: ContractPod) => Promise<void>): Promise<void> {
    const pod = new ContractPod(machine, node);
    try {
      await pod.run();
      await body(pod);
    } finally {
      await pod.remove();
    }
  }

  return { containerd, node, open, inPod };
}

function sharingTests({ containerd, node, open, inPod }: Suite): void {
  test("agents that share a runtime see their own sandboxes and containers", () =>
    inPod(async (pod) => {
      const { id } = await pod.start("sleep 1000");
      const other = open("other");
      await other.service.start();
      try {
        assert.deepEqual(await other.service.listPodSandboxes(), []);
        assert.deepEqual(await other.service.listContainers(), []);
        assert.deepEqual(await other.service.listContainers(pod.uid), []);
        assert.ok((await node.service.listContainers()).some((each) => each.id === id));
        const changed: string[] = [];
        other.service.onChange((uid) => changed.push(uid));
        await node.service.stopContainer(id, 0);
        await pod.exited(id);
        assert.deepEqual(changed, []);
      } finally {
        await other.service.close();
      }
    }));

  test("after a restart of the runtime the agent reconnects and reports changes", () =>
    inPod(async (pod) => {
      const { id } = await pod.start("sleep 2");
      const { id: staying } = await pod.start("sleep 1000");
      await containerd.end();
      await assert.rejects(
        node.service.listContainers(),
        (error: Error & { reason?: string }) => error.reason === "RuntimeUnavailable",
      );
      const changed = new Set<string>();
      const stop = node.service.onChange((uid) => changed.add(uid));
      await containerd.run();
      await eventuallyPasses(async () => assert.ok(changed.has(pod.uid)));
      stop();
      await eventuallyPasses(async () => assert.equal((await pod.find(id)).state, "exited"));
      assert.equal((await pod.find(staying)).state, "running");
      assert.equal((await node.service.execSync(staying, ["echo", "on"], 10_000)).output, "on\n");
    }));
}

function imageTests({ node, open }: Suite): void {
  test("an image that no registry gives is ErrImagePull, with the answers to all credentials", async () => {
    const wrong = { username: "a", password: "b" };
    const pull = (count: number) =>
      node.images.pullImage(
        "127.0.0.1:1/no/such:image",
        Array.from({ length: count }, () => wrong),
      );
    for (const [count, answers] of [
      [0, 1],
      [1, 1],
      [2, 2],
    ] as const) {
      await assert.rejects(pull(count), (error: Error & { reason?: string }) => {
        assert.equal(error.reason, "ErrImagePull");
        assert.equal(
          error.message.split("failed to pull and unpack image").length - 1,
          answers,
          error.message,
        );
        return true;
      });
    }
  });

  test("an image is removed with all its names, and only once", async () => {
    const name = "localhost/dray/user:test";
    const image = await node.images.imageStatus(name, false);
    assert.deepEqual([image?.user, image?.tags], [1234, [name]]);
    for (let times = 0; times < 2; times++) await node.images.removeImage(image?.ref ?? "");
    assert.equal(await node.images.imageStatus(name, false), undefined);
    const left = (await node.images.listImages()).flatMap(({ tags }) => tags);
    assert.ok(left.includes(testImage) && !left.includes(name));
  });

  test("before it is started nothing can be asked of it", async () => {
    const { service, images } = open("late");
    assert.throws(() => service.name, /not connected/);
    await assert.rejects(images.listImages(), /not connected/);
  });
}
