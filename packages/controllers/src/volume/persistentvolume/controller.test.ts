import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { StorageClass } from "@dray/api/storage/v1";
import {
  type Controller,
  type ControllerContext,
  localPathStorageClass,
  startEphemeralVolumeController,
  startPersistentVolumeController,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "../../testing/cluster.ts";

const start = async (context: ControllerContext): Promise<Controller> => {
  const both = await Promise.all([
    startPersistentVolumeController(context),
    startEphemeralVolumeController(context),
  ]);
  return { stopped: Promise.all(both.map(({ stopped }) => stopped)).then(() => {}) };
};

const size = (storage: string) => ({ requests: { storage } });
const volume = (name: string, storage: string, more: object = {}): object => ({
  metadata: { name },
  spec: {
    capacity: { storage },
    accessModes: ["ReadWriteOnce"],
    hostPath: { path: `/data/${name}` },
    ...more,
  },
});
const claim = (name: string, storage: string, more: object = {}): object => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: size(storage), storageClassName: "", ...more },
});
const pod = (name: string, volumes: object[]): object => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }], volumes },
});
const bound = (cluster: TestCluster, name: string) =>
  cluster.until(`claim ${name} is bound`, async () => {
    const found = await cluster.get(PersistentVolumeClaim, name);
    return found.status?.phase === "Bound" && found;
  });
const phase = (cluster: TestCluster, name: string, wanted: string) =>
  cluster.until(`volume ${name} is ${wanted}`, async () => {
    const found = await cluster.get(PersistentVolume, name);
    return found.status?.phase === wanted && found;
  });

test("a claim is bound to the smallest volume that fits, which stays released when the claim is gone", () =>
  withCluster(start, async (cluster) => {
    await cluster.create(PersistentVolume, volume("large", "10Gi"));
    await cluster.create(PersistentVolume, volume("small", "1Gi"));
    await cluster.create(PersistentVolume, volume("fitting", "3Gi"));
    await cluster.create(PersistentVolume, volume("shared", "2Gi", { accessModes: ["ReadWriteMany"] }));
    for (const name of ["large", "small", "fitting", "shared"]) await phase(cluster, name, "Available");
    await cluster.create(PersistentVolumeClaim, claim("c", "2Gi"));
    const { spec, status } = await bound(cluster, "c");
    assert.equal(spec?.volumeName, "fitting");
    assert.deepEqual(status?.capacity, { storage: "3Gi" });
    const taken = await phase(cluster, "fitting", "Bound");
    assert.equal(taken.spec?.claimRef?.name, "c");
    // No other gets it.
    await cluster.create(PersistentVolumeClaim, claim("second", "2Gi"));
    assert.equal((await bound(cluster, "second")).spec?.volumeName, "large");
    await cluster.client
      .resource(PersistentVolumeClaim)
      .patch({ namespace: "d", name: "c" }, "merge", { metadata: { finalizers: null } });
    await cluster.client.resource(PersistentVolumeClaim).delete({ namespace: "d", name: "c" });
    await phase(cluster, "fitting", "Released");
  }));

test("an event of a claim without a volume names what it waits for", () =>
  withCluster(start, async (cluster) => {
    await cluster.create(PersistentVolumeClaim, claim("none", "2Gi"));
    await cluster.until("told", async () =>
      (await cluster.events()).includes(
        "Normal FailedBinding no persistent volumes available for this claim and no storage class is set",
      ),
    );
    assert.equal((await cluster.get(PersistentVolumeClaim, "none")).status?.phase, "Pending");
    // Volumes that are meant for it by name: one that is too small is left alone.
    await cluster.create(
      PersistentVolume,
      volume("small", "1Gi", { claimRef: { namespace: "d", name: "none" } }),
    );
    await phase(cluster, "small", "Available");
    await cluster.settle();
    await cluster.create(
      PersistentVolume,
      volume("meant", "2Gi", { claimRef: { namespace: "d", name: "none" } }),
    );
    assert.equal((await bound(cluster, "none")).spec?.volumeName, "meant");
  }));

test("a claim that names its volume gets it if the volume holds what it asks for", () =>
  withCluster(start, async (cluster) => {
    const reported = (event: string) =>
      cluster.until(event, async () => (await cluster.events()).includes(event));
    await cluster.create(PersistentVolume, volume("v", "2Gi"));
    const misfits: readonly [string, string, object, string][] = [
      ["large", "3Gi", {}, "requested PV is too small"],
      ["classy", "1Gi", { storageClassName: "c" }, "storageClassName does not match"],
      ["raw", "1Gi", { volumeMode: "Block" }, "incompatible volumeMode"],
      ["shared", "1Gi", { accessModes: ["ReadWriteMany"] }, "incompatible accessMode"],
    ];
    for (const [name, storage, more, why] of misfits) {
      await cluster.create(PersistentVolumeClaim, claim(name, storage, { ...more, volumeName: "v" }));
      await reported(`Warning VolumeMismatch Cannot bind to requested volume "v": ${why}`);
    }
    for (const name of ["first", "second"]) {
      await cluster.create(PersistentVolumeClaim, claim(name, "1Gi", { volumeName: "v" }));
      if (name === "first") await bound(cluster, name);
    }
    await reported(`Warning FailedBinding volume "v" already bound to a different claim.`);
    assert.equal((await cluster.get(PersistentVolumeClaim, "second")).status?.phase, "Pending");
  }));

test("a claim without a class gets the default one as soon as there is one; provisioners outside are asked", () =>
  withCluster(start, async (cluster) => {
    const reported = (event: string) =>
      cluster.until(event, async () => (await cluster.events()).includes(event));
    const spec = { accessModes: ["ReadWriteOnce"], resources: size("1Gi") };
    await cluster.create(PersistentVolumeClaim, { metadata: { name: "early" }, spec });
    await cluster.create(PersistentVolumeClaim, claim("lost", "1Gi", { storageClassName: "missing" }));
    await cluster.create(StorageClass, {
      metadata: { name: "manual" },
      provisioner: "kubernetes.io/no-provisioner",
    });
    await cluster.create(PersistentVolumeClaim, claim("manual", "1Gi", { storageClassName: "manual" }));
    await reported('Warning ProvisioningFailed storageclass.storage.k8s.io "missing" not found');
    await reported("Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner");
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    await cluster.create(StorageClass, {
      metadata: { name: "nfs", annotations },
      provisioner: "example.com/nfs",
    });
    const provided = await cluster.until("the provisioner is asked", async () => {
      const found = await cluster.get(PersistentVolumeClaim, "early");
      return found.metadata.annotations !== undefined && found;
    });
    assert.equal(provided.spec?.storageClassName, "nfs");
    assert.deepEqual(provided.metadata.annotations, {
      "volume.beta.kubernetes.io/storage-provisioner": "example.com/nfs",
      "volume.kubernetes.io/storage-provisioner": "example.com/nfs",
    });
  }));

test("a claim that waits for a pod says for which", () =>
  withCluster(start, async (cluster) => {
    await cluster.create(StorageClass, localPathStorageClass);
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
    await cluster.create(Pod, pod("p", volumes));
    await cluster.create(PersistentVolumeClaim, claim("data", "1Gi", { storageClassName: "local-path" }));
    const event = "Normal WaitForPodScheduled waiting for pod p to be scheduled";
    await cluster.until("told", async () => (await cluster.events()).includes(event));
  }));

test("local-path: a volume on the node of the first pod, whose data goes with the claim", () =>
  withCluster(start, async (cluster) => {
    await cluster.create(StorageClass, localPathStorageClass);
    await cluster.node("n1");
    await cluster.create(PersistentVolumeClaim, claim("data", "1Gi", { storageClassName: "local-path" }));
    await cluster.until("told", async () =>
      (await cluster.events()).includes(
        "Normal WaitForFirstConsumer waiting for first consumer to be created before binding",
      ),
    );
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
    await cluster.run(await cluster.create(Pod, pod("p", volumes)), "n1");
    const { spec, metadata } = await bound(cluster, "data");
    assert.equal(spec?.volumeName, `pvc-${metadata.uid}`);
    const made = await phase(cluster, `pvc-${metadata.uid}`, "Bound");
    const path = `/var/lib/local-path-provisioner/pvc-${metadata.uid}_d_data`;
    assert.deepEqual(made.spec?.hostPath, { path, type: "DirectoryOrCreate" });
    assert.deepEqual(made.spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions, [
      { key: "kubernetes.io/hostname", operator: "In", values: ["n1"] },
    ]);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" }, { gracePeriodSeconds: 0 });
    await cluster.client
      .resource(PersistentVolumeClaim)
      .patch({ namespace: "d", name: "data" }, "merge", { metadata: { finalizers: null } });
    await cluster.client.resource(PersistentVolumeClaim).delete({ namespace: "d", name: "data" });
    const helper = await cluster.until("the helper", () =>
      cluster.find(Pod, `delete-pvc-${metadata.uid}`, "kube-system"),
    );
    assert.equal(helper.spec.nodeName, "n1");
    assert.deepEqual(helper.spec.containers[0]?.command, ["rm", "-rf", path]);
    await cluster.setStatus(helper, { phase: "Succeeded" });
    await cluster.until("the volume is being deleted", async () => {
      const volume = await cluster.find(PersistentVolume, `pvc-${metadata.uid}`);
      return volume?.metadata.deletionTimestamp !== undefined;
    });
    // A change of the volume must not remove its data again.
    await cluster.client
      .resource(PersistentVolume)
      .patch({ name: `pvc-${metadata.uid}` }, "merge", { metadata: { labels: { touched: "yes" } } });
    await cluster.settle();
    assert.deepEqual(await cluster.list(Pod, "kube-system"), []);
    await cluster.client
      .resource(PersistentVolume)
      .patch({ name: `pvc-${metadata.uid}` }, "merge", { metadata: { finalizers: null } });
    await cluster.until("the volume is gone", async () => {
      const left = await cluster.list(PersistentVolume);
      const helpers = await cluster.list(Pod, "kube-system");
      return left.length === 0 && helpers.length === 0;
    });
  }));

test("an ephemeral volume uses only a claim that its pod owns", () =>
  withCluster(start, async (cluster) => {
    const volumeClaimTemplate = {
      metadata: { labels: { a: "b" } },
      spec: { accessModes: ["ReadWriteOnce"], resources: size("1Gi") },
    };
    const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate } }];
    const { metadata } = await cluster.create(Pod, pod("p", volumes));
    const made = await cluster.until("the claim", () => cluster.find(PersistentVolumeClaim, "p-scratch"));
    assert.equal(made.metadata.ownerReferences?.[0]?.uid, metadata.uid);
    assert.deepEqual(made.metadata.labels, { a: "b" });
    await cluster.create(PersistentVolumeClaim, claim("q-scratch", "1Gi"));
    await cluster.create(Pod, pod("q", volumes));
    await cluster.until("told", async () =>
      (await cluster.events()).some((event) =>
        event.includes("PVC d/q-scratch was not created for pod d/q (pod is not owner)"),
      ),
    );
  }));
