import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { StorageClass } from "@dray/api/storage/v1";
import { type TestCluster, withCluster } from "../../testing/cluster.ts";

const size = { requests: { storage: "1Gi" } };
const uses = (claimName: string) => ({ volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] });

async function claim(cluster: TestCluster, name: string, storageClassName = ""): Promise<void> {
  const spec = { accessModes: ["ReadWriteOnce"], resources: size, storageClassName };
  await cluster.create(PersistentVolumeClaim, { metadata: { name }, spec });
}

/** As the controller that binds them does. */
async function bind(cluster: TestCluster, name: string, node: string): Promise<void> {
  const ref = { namespace: "d", name };
  const { metadata } = await cluster.get(PersistentVolumeClaim, name);
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }];
  await cluster.create(PersistentVolume, {
    metadata: { name: `pv-${name}` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/data" },
      claimRef: { ...ref, uid: metadata.uid },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
  const claims = cluster.client.resource(PersistentVolumeClaim);
  const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
  await claims.patch(ref, "merge", { metadata: { annotations }, spec: { volumeName: `pv-${name}` } });
  await claims.patch(ref, "merge", { status: { phase: "Bound" } }, { subresource: "status" });
}

async function nodes(cluster: TestCluster): Promise<void> {
  for (const name of ["n1", "n2", "n3"])
    await cluster.node(name, { labels: { "kubernetes.io/hostname": name } });
}

test("a pod waits for its claim, and goes where the volume of it is", () =>
  withCluster(async (cluster) => {
    await nodes(cluster);
    await cluster.scheduler();
    await cluster.pod("p", uses("data"));
    await cluster.until("told", async () =>
      (await cluster.events()).some((event) => event.includes('persistentvolumeclaim "data" not found')),
    );
    await claim(cluster, "data");
    await cluster.until("told", async () =>
      (await cluster.events()).some((event) =>
        event.includes("pod has unbound immediate PersistentVolumeClaims"),
      ),
    );
    await bind(cluster, "data", "n2");
    assert.equal(await cluster.bound("p"), "n2");
    // No other node will do.
    await cluster.pod("q", { ...uses("data"), nodeSelector: { "kubernetes.io/hostname": "n1" } });
    await cluster.until("told", async () =>
      (await cluster.events()).some((event) =>
        event.includes("1 node(s) didn't match PersistentVolume's node affinity"),
      ),
    );
  }));

test("a claim that waits for its first consumer is bound before its pods are, all on one node", () =>
  withCluster(async (cluster) => {
    await nodes(cluster);
    await cluster.create(StorageClass, {
      metadata: { name: "local" },
      provisioner: "example.com/local",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await claim(cluster, "data", "local");
    const names = Array.from({ length: 6 }, (_, index) => `p${index}`);
    for (const name of names) await cluster.pod(name, uses("data"));
    await cluster.scheduler();
    const chosen = await cluster.until("the scheduler has chosen a node", async () => {
      const { metadata } = await cluster.get(PersistentVolumeClaim, "data");
      return metadata.annotations?.["volume.kubernetes.io/selected-node"];
    });
    await cluster.settle();
    for (const { spec } of await cluster.list(Pod)) assert.equal(spec.nodeName, undefined);
    await bind(cluster, "data", chosen);
    for (const name of names) assert.equal(await cluster.bound(name), chosen);
  }));

test("a volume that is there is reserved for the claim before the pod is bound", () =>
  withCluster(async (cluster) => {
    await nodes(cluster);
    await cluster.create(StorageClass, {
      metadata: { name: "manual" },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: ["n3"] }];
    await cluster.create(PersistentVolume, {
      metadata: { name: "disk" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        local: { path: "/data" },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
      },
    });
    const volumes = cluster.client.resource(PersistentVolume);
    const available = { status: { phase: "Available" } };
    await volumes.patch({ name: "disk" }, "merge", available, { subresource: "status" });
    await claim(cluster, "data", "manual");
    await cluster.scheduler();
    await cluster.pod("p", uses("data"));
    const reserved = await cluster.until("the volume is reserved", async () => {
      const { spec, metadata } = await cluster.get(PersistentVolume, "disk");
      return (
        spec?.claimRef?.uid !== undefined && { claimRef: spec.claimRef, annotations: metadata.annotations }
      );
    });
    assert.equal(reserved.claimRef.name, "data");
    assert.deepEqual(reserved.annotations, { "pv.kubernetes.io/bound-by-controller": "yes" });
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
    const claims = cluster.client.resource(PersistentVolumeClaim);
    const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
    const ref = { namespace: "d", name: "data" };
    await claims.patch(ref, "merge", { metadata: { annotations }, spec: { volumeName: "disk" } });
    assert.equal(await cluster.bound("p"), "n3");
  }));
