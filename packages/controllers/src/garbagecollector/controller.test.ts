import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "@dray/api/core/v1";
import { servedResources, startGarbageCollector } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

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

test("garbage: an object goes with its last owner, and its own dependents after it", () =>
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

test("garbage: orphaned dependents stay without owner references", () =>
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
