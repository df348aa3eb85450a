import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "@dray/api/coordination/v1";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { microTimeText, timeText } from "@dray/client";
import { startNodeLifecycleController } from "@dray/controllers";
import { withCluster } from "../testing/cluster.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

const readyOf = (node: Node): string | undefined =>
  node.status?.conditions?.find(({ type }) => type === "Ready")?.status;

const taintsOf = (node: Node): string[] =>
  (node.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).sort();

test("a node whose lease is not renewed becomes Unknown and tainted, its pods not ready; a sign of life undoes it", () =>
  withCluster(startNodeLifecycleController, async (cluster) => {
    const { clock, client } = cluster;
    await cluster.create(Namespace, { metadata: { name: "kube-node-lease" }, spec: {} }).catch(() => {});
    const renew = async (name: string, create = false): Promise<void> => {
      const ref = { namespace: "kube-node-lease", name };
      const spec = { holderIdentity: name, renewTime: microTimeText(clock.now()) };
      if (create) await cluster.create(Lease, { metadata: ref, spec });
      else await client.resource(Lease).patch(ref, "merge", { spec });
      await cluster.settle();
    };
    for (const name of ["a", "b"]) {
      await cluster.node(name);
      await renew(name, true);
    }
    const running = await cluster.create(Pod, pod("p"));
    await cluster.run(running, "a");
    for (let i = 0; i < 4; i++) {
      clock.advance(40_000);
      for (const name of ["a", "b"]) await renew(name);
    }
    assert.equal(readyOf(await cluster.get(Node, "a")), "True", "renewed in time");
    clock.advance(40_000);
    await renew("b");
    clock.advance(10_000);
    const lost = await cluster.until("unknown", async () => {
      const node = await cluster.get(Node, "a");
      return readyOf(node) === "Unknown" && taintsOf(node).length > 0 && node;
    });
    assert.deepEqual(taintsOf(lost), [
      "node.kubernetes.io/unreachable:NoExecute",
      "node.kubernetes.io/unreachable:NoSchedule",
    ]);
    assert.equal(lost.status?.conditions?.find(({ type }) => type === "Ready")?.reason, "NodeStatusUnknown");
    await cluster.until("the pod is not ready", async () => {
      const { status } = await cluster.get(Pod, "p");
      return status?.conditions?.some(({ type, status: state }) => type === "Ready" && state === "False");
    });
    await renew("a");
    const ready = {
      type: "Ready",
      status: "True",
      lastHeartbeatTime: timeText(clock.now()),
    };
    await client
      .resource(Node)
      .patch({ name: "a" }, "strategic", { status: { conditions: [ready] } }, { subresource: "status" });
    await cluster.until("no taints", async () => taintsOf(await cluster.get(Node, "a")).length === 0);
  }));

test("cordoning is a taint, and uncordoning takes it away", () =>
  withCluster(startNodeLifecycleController, async (cluster) => {
    await cluster.node("a");
    const nodes = cluster.client.resource(Node);
    await nodes.patch({ name: "a" }, "merge", { spec: { unschedulable: true } });
    await cluster.until(
      "tainted",
      async () =>
        taintsOf(await cluster.get(Node, "a")).join() === "node.kubernetes.io/unschedulable:NoSchedule",
    );
    await nodes.patch({ name: "a" }, "merge", { spec: { unschedulable: null } });
    await cluster.until("clean", async () => taintsOf(await cluster.get(Node, "a")).length === 0);
  }));
