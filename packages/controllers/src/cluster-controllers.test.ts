import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "@dray/api/apps/v1";
import { Lease } from "@dray/api/coordination/v1";
import { ConfigMap, Event, Namespace, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { microTimeText, timeText } from "@dray/client";
import {
  type ControllerContext,
  servedResources,
  startGarbageCollector,
  startNamespaceController,
  startNodeLifecycleController,
  startPodGarbageCollector,
  startRootCertificatePublisher,
  startServiceAccountController,
  startTaintEvictionController,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "./testing.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

const collecting = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(async (context) => startGarbageCollector(context, await servedResources(context)), run);

async function owner(cluster: TestCluster, name: string, metadata: object = {}): Promise<ConfigMap> {
  return cluster.create(ConfigMap, { metadata: { name, ...metadata } });
}

function ownedBy(...owners: { metadata: { name: string; uid: string } }[]): object {
  const references = owners.map(({ metadata }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: metadata.name,
    uid: metadata.uid,
    blockOwnerDeletion: true,
  }));
  return { ownerReferences: references };
}

test("garbage: thousands of owners of one object do not hold up the event loop", () =>
  collecting(async (cluster) => {
    const owners = Array.from({ length: 3000 }, (_, i) => ({ metadata: { name: `o${i}`, uid: `uid-${i}` } }));
    await owner(cluster, "child", ownedBy(...owners));
    let turns = 0;
    let ended = false;
    const count = (): void => {
      turns++;
      if (!ended) setImmediate(count);
    };
    count();
    await gone(cluster, "child");
    ended = true;
    assert.ok(turns >= 3000 / 50, `only ${turns} turns`);
  }));

const gone = (cluster: TestCluster, name: string): Promise<true> =>
  cluster.until(`${name} is gone`, async () => (await cluster.find(ConfigMap, name)) === undefined && true);

test("garbage: what is owned goes with its last owner, and what that owns after it", () =>
  collecting(async (cluster) => {
    const [a, b] = [await owner(cluster, "a"), await owner(cluster, "b")];
    await owner(cluster, "of-both", ownedBy(a, b));
    const child = await owner(cluster, "of-a", ownedBy(a));
    await owner(cluster, "grandchild", ownedBy(child));
    await cluster.settle();
    await cluster.client.resource(ConfigMap).delete({ namespace: "d", name: "a" });
    await gone(cluster, "of-a");
    await gone(cluster, "grandchild");
    const left = await cluster.until("one owner left", async () => {
      const object = await cluster.get(ConfigMap, "of-both");
      return object.metadata.ownerReferences?.length === 1 && object;
    });
    assert.equal(left.metadata.ownerReferences?.[0]?.uid, b.metadata.uid);
    await cluster.client.resource(ConfigMap).delete({ namespace: "d", name: "b" });
    await gone(cluster, "of-both");
  }));

test("garbage: an object that names an owner which never was, or has another uid, goes", () =>
  collecting(async (cluster) => {
    const a = await owner(cluster, "a");
    await owner(
      cluster,
      "of-nobody",
      ownedBy({ metadata: { name: "never", uid: "00000000-0000-4000-8000-000000000000" } }),
    );
    await owner(
      cluster,
      "of-former",
      ownedBy({ metadata: { name: "a", uid: "00000000-0000-4000-8000-000000000001" } }),
    );
    await owner(cluster, "of-a", ownedBy(a));
    await gone(cluster, "of-nobody");
    await gone(cluster, "of-former");
    await cluster.get(ConfigMap, "of-a");
  }));

test("garbage: in the foreground the owner goes last", () =>
  collecting(async (cluster) => {
    const a = await owner(cluster, "a");
    const held = await owner(cluster, "held", { ...ownedBy(a), finalizers: ["example.com/hold"] });
    await owner(cluster, "free", ownedBy(a));
    await cluster.settle();
    await cluster.client
      .resource(ConfigMap)
      .delete({ namespace: "d", name: "a" }, { propagationPolicy: "Foreground" });
    await gone(cluster, "free");
    await cluster.until(
      "held is being deleted",
      async () => (await cluster.get(ConfigMap, "held")).metadata.deletionTimestamp !== undefined && true,
    );
    await cluster.settle();
    await cluster.get(ConfigMap, "a");
    await cluster.client
      .resource(ConfigMap)
      .patch({ namespace: "d", name: held.metadata.name }, "merge", { metadata: { finalizers: null } });
    await gone(cluster, "a");
  }));

test("garbage: orphaned dependents stay and name nobody", () =>
  collecting(async (cluster) => {
    const a = await owner(cluster, "a");
    await owner(cluster, "of-a", ownedBy(a));
    await cluster.settle();
    await cluster.client
      .resource(ConfigMap)
      .delete({ namespace: "d", name: "a" }, { propagationPolicy: "Orphan" });
    await gone(cluster, "a");
    const { metadata } = await cluster.get(ConfigMap, "of-a");
    assert.deepEqual(metadata.ownerReferences ?? [], []);
  }));

test("namespace: emptied, the pods first, with conditions that say what is left, then gone", () =>
  withCluster(
    async (context) => startNamespaceController(context, await servedResources(context)),
    async (cluster) => {
      await cluster.create(Pod, pod("held", {}, { finalizers: ["example.com/hold"] }));
      await owner(cluster, "map");
      const involvedObject = { apiVersion: "v1", kind: "Pod", name: "held", namespace: "d" };
      await cluster.create(Event, { metadata: { name: "event" }, involvedObject });
      await cluster.create(ReplicaSet, {
        metadata: { name: "rs" },
        spec: {
          replicas: 0,
          selector: { matchLabels: { a: "b" } },
          template: { ...pod("x"), metadata: { labels: { a: "b" } } },
        },
      });
      await cluster.client.resource(Namespace).delete({ name: "d" });
      const remaining = await cluster.until("conditions", async () => {
        const { status } = await cluster.get(Namespace, "d");
        return status?.conditions?.find(
          ({ type, status: state }) => type === "NamespaceFinalizersRemaining" && state === "True",
        );
      });
      assert.match(remaining.message ?? "", /example\.com\/hold in 1 resource instances/);
      await cluster.get(ConfigMap, "map");
      await cluster.client
        .resource(Pod)
        .patch({ namespace: "d", name: "held" }, "merge", { metadata: { finalizers: null } });
      await cluster.until("gone", async () => (await cluster.find(Namespace, "d")) === undefined);
      assert.equal(await cluster.find(ConfigMap, "map"), undefined);
      assert.equal(await cluster.find(ReplicaSet, "rs"), undefined);
      assert.equal(await cluster.find(Event, "event"), undefined);
    },
  ));

test("each namespace has its service account and its root certificate, also after someone takes them away", () =>
  withCluster(
    (context: ControllerContext) =>
      Promise.all([startServiceAccountController(context), startRootCertificatePublisher(context, "PEM")]),
    async (cluster) => {
      await cluster.create(Namespace, { metadata: { name: "new" }, spec: {} });
      const both = (): Promise<ConfigMap> =>
        cluster.until("both", async () => {
          const account = await cluster.find(ServiceAccount, "default", "new");
          const map = await cluster.find(ConfigMap, "kube-root-ca.crt", "new");
          return account !== undefined && map?.data?.["ca.crt"] === "PEM" && map;
        });
      await both();
      await cluster.client.resource(ServiceAccount).delete({ namespace: "new", name: "default" });
      const maps = cluster.client.resource(ConfigMap);
      const ref = { namespace: "new", name: "kube-root-ca.crt" };
      await maps.patch(ref, "merge", { data: { "ca.crt": "other" } });
      await both();
      await maps.delete(ref);
      await both();
    },
  ));

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
      clock.pass(40_000);
      for (const name of ["a", "b"]) await renew(name);
    }
    assert.equal(readyOf(await cluster.get(Node, "a")), "True", "renewed in time");
    clock.pass(40_000);
    await renew("b");
    clock.pass(10_000);
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

test("a NoExecute taint evicts at once, after the seconds tolerated, or never", () =>
  withCluster(startTaintEvictionController, async (cluster) => {
    const { clock, client } = cluster;
    await cluster.node("a");
    const toleration = { key: "k", operator: "Exists", effect: "NoExecute" };
    await cluster.create(Pod, pod("none", { nodeName: "a" }));
    await cluster.create(
      Pod,
      pod("some", { nodeName: "a", tolerations: [{ ...toleration, tolerationSeconds: 100 }] }),
    );
    await cluster.create(Pod, pod("ever", { nodeName: "a", tolerations: [toleration] }));
    await cluster.settle();
    assert.equal((await cluster.list(Pod)).filter(({ metadata }) => metadata.deletionTimestamp).length, 0);
    const timeAdded = timeText(clock.now());
    await client
      .resource(Node)
      .patch({ name: "a" }, "merge", { spec: { taints: [{ key: "k", effect: "NoExecute", timeAdded }] } });
    const doomed = async (): Promise<string> =>
      (await cluster.list(Pod))
        .filter(({ metadata }) => metadata.deletionTimestamp)
        .map(({ metadata }) => metadata.name)
        .sort()
        .join();
    await cluster.until("none is evicted", async () => (await doomed()) === "none");
    const condition = (await cluster.get(Pod, "none")).status?.conditions?.find(
      ({ type }) => type === "DisruptionTarget",
    );
    assert.deepEqual([condition?.status, condition?.reason], ["True", "DeletionByTaintManager"]);
    clock.pass(90_000);
    await cluster.settle();
    assert.equal(await doomed(), "none");
    clock.pass(10_000);
    await cluster.until("some is evicted", async () => (await doomed()) === "none,some");
    clock.pass(10_000_000);
    await cluster.settle();
    assert.equal(await doomed(), "none,some");
  }));

test("pods of a node that is gone, and deleted ones that never had one, are removed", () =>
  withCluster(startPodGarbageCollector, async (cluster) => {
    const { clock, client } = cluster;
    await cluster.node("a");
    await cluster.node("b");
    const finalizers = ["example.com/hold"];
    await cluster.create(Pod, pod("on-a", { nodeName: "a" }, { finalizers }));
    await cluster.create(Pod, pod("on-b", { nodeName: "b" }));
    await cluster.create(Pod, pod("waits", { schedulingGates: [{ name: "g" }] }));
    await client.resource(Node).delete({ name: "a" });
    await cluster.settle();
    clock.pass(30_000);
    await cluster.settle();
    assert.equal(
      (await cluster.get(Pod, "on-a")).metadata.deletionTimestamp,
      undefined,
      "the node may come back",
    );
    clock.pass(10_000);
    const lost = await cluster.until("deleted", async () => {
      const found = await cluster.get(Pod, "on-a");
      return found.metadata.deletionTimestamp !== undefined && found;
    });
    assert.equal(lost.status?.phase, "Failed");
    assert.equal(
      lost.status?.conditions?.find(({ type }) => type === "DisruptionTarget")?.reason,
      "DeletionByPodGC",
    );
    assert.equal((await cluster.get(Pod, "on-b")).metadata.deletionTimestamp, undefined);
  }));
