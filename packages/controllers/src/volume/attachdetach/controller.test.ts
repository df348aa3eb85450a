import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { StorageClass, VolumeAttachment } from "@dray/api/storage/v1";
import { startAttachDetachController, startVolumeExpander } from "@dray/controllers";
import { type TestCluster, withCluster } from "../../testing/cluster.ts";

const driver = "disk.example.com";
const uniqueName = `kubernetes.io/csi/${driver}^handle-1`;

/** A claim that is bound to a volume of a CSI driver. */
async function boundClaim(cluster: TestCluster, more: object = {}): Promise<void> {
  const spec = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "fast",
    resources: { requests: { storage: "1Gi" } },
  };
  const claim = await cluster.create(PersistentVolumeClaim, {
    metadata: { name: "c" },
    spec: { ...spec, volumeName: "pv1" },
  });
  const { uid } = claim.metadata;
  await cluster.create(PersistentVolume, {
    metadata: { name: "pv1" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "fast",
      csi: { driver, volumeHandle: "handle-1" },
      claimRef: { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace: "d", name: "c", uid },
      ...more,
    },
  });
  const status = { phase: "Bound", accessModes: spec.accessModes, capacity: { storage: "1Gi" } };
  await cluster.client
    .resource(PersistentVolumeClaim)
    .patch({ namespace: "d", name: "c" }, "merge", { status }, { subresource: "status" });
}

const pod = (name: string, nodeName: string): object => ({
  metadata: { name },
  spec: {
    nodeName,
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }],
  },
});

const attachmentOn = (cluster: TestCluster, node: string): Promise<VolumeAttachment> =>
  cluster.until(`attachment on ${node}`, async () =>
    (await cluster.list(VolumeAttachment)).find(({ spec }) => spec.nodeName === node),
  );

/** Does what the driver's attacher does. */
const attached = (
  cluster: TestCluster,
  { metadata: { name } }: VolumeAttachment,
): Promise<VolumeAttachment> =>
  cluster.client
    .resource(VolumeAttachment)
    .patch({ name }, "merge", { status: { attached: true } }, { subresource: "status" });

const setInUse = (cluster: TestCluster, name: string, volumesInUse: string[]): Promise<Node> =>
  cluster.client
    .resource(Node)
    .patch({ name }, "merge", { status: { volumesInUse } }, { subresource: "status" });

const volumesOn = async (cluster: TestCluster, node: string): Promise<string[]> =>
  ((await cluster.get(Node, node)).status?.volumesAttached ?? []).map(({ name }) => name);

test("a CSI volume is attached to the node of its pod, and detached when the kubelet has unmounted it", () =>
  withCluster(startAttachDetachController, async (cluster) => {
    await cluster.node("a");
    await cluster.node("b");
    await boundClaim(cluster);
    await cluster.create(Pod, pod("p", "a"));
    const attachment = await attachmentOn(cluster, "a");
    // As pkg/volume/csi names it: sha256 of handle, driver and node.
    assert.match(attachment.metadata.name, /^csi-[0-9a-f]{64}$/);
    assert.deepEqual(attachment.spec, {
      attacher: driver,
      nodeName: "a",
      source: { persistentVolumeName: "pv1" },
    });
    assert.deepEqual(await volumesOn(cluster, "a"), [], "the driver has not attached it yet");
    await attached(cluster, attachment);
    await cluster.until("told", async () => (await volumesOn(cluster, "a"))[0] === uniqueName);
    await setInUse(cluster, "a", [uniqueName]);

    await cluster.create(Pod, pod("q", "b"));
    await cluster.until("refused", async () =>
      (await cluster.events()).some((event) =>
        /FailedAttachVolume Multi-Attach error for volume "pv1"/.test(event),
      ),
    );
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" }, { gracePeriodSeconds: 0 });
    await cluster.settle();
    assert.equal((await cluster.list(VolumeAttachment)).length, 1, "the kubelet still has it");
    await setInUse(cluster, "a", []);
    await attachmentOn(cluster, "b");
    assert.deepEqual(await volumesOn(cluster, "a"), []);
  }));

test("a node that is not ready loses its volumes after six minutes", () =>
  withCluster(startAttachDetachController, async (cluster) => {
    await cluster.node("a");
    await boundClaim(cluster);
    await cluster.create(Pod, pod("p", "a"));
    await attached(cluster, await attachmentOn(cluster, "a"));
    await cluster.until("told", async () => (await volumesOn(cluster, "a")).length === 1);
    const conditions = [{ type: "Ready", status: "Unknown" }];
    await cluster.client
      .resource(Node)
      .patch(
        { name: "a" },
        "merge",
        { status: { conditions, volumesInUse: [uniqueName] } },
        { subresource: "status" },
      );
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" }, { gracePeriodSeconds: 0 });
    await cluster.settle();
    cluster.clock.advance(5 * 60_000);
    await cluster.settle();
    assert.equal((await cluster.list(VolumeAttachment)).length, 1);
    cluster.clock.advance(2 * 60_000);
    await cluster.until("detached", async () => (await cluster.list(VolumeAttachment)).length === 0);
  }));

test("attachments that others have made stay", () =>
  withCluster(startAttachDetachController, async (cluster) => {
    await cluster.node("a");
    await boundClaim(cluster);
    for (const [name, persistentVolumeName] of [
      ["by-hand", "pv1"],
      [`csi-${"0".repeat(64)}`, "pv-that-is-not-there"],
    ])
      await cluster.create(VolumeAttachment, {
        metadata: { name },
        spec: { attacher: driver, nodeName: "a", source: { persistentVolumeName } },
      });
    await cluster.settle();
    assert.equal((await cluster.list(VolumeAttachment)).length, 2);
  }));

test("volumes: a restarted controller detaches unused volumes", () =>
  withCluster(startAttachDetachController, async (cluster) => {
    await cluster.node("a");
    await boundClaim(cluster);
    await cluster.create(Pod, pod("p", "a"));
    await attached(cluster, await attachmentOn(cluster, "a"));
    await cluster.restart(async () => {
      await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" }, { gracePeriodSeconds: 0 });
    }, startAttachDetachController);
    await cluster.until("detached", async () => (await cluster.list(VolumeAttachment)).length === 0);
  }));

test("a claim that grows gets the event ExternalExpanding", () =>
  withCluster(startVolumeExpander, async (cluster) => {
    await cluster.create(StorageClass, {
      metadata: { name: "fast" },
      provisioner: driver,
      allowVolumeExpansion: true,
    });
    await boundClaim(cluster);
    const grow = (storage: string): Promise<PersistentVolumeClaim> =>
      cluster.client
        .resource(PersistentVolumeClaim)
        .patch({ namespace: "d", name: "c" }, "merge", { spec: { resources: { requests: { storage } } } });
    await grow("2Gi");
    const said = (pattern: RegExp): Promise<true> =>
      cluster.until(
        `${pattern}`,
        async () => (await cluster.events()).some((event) => pattern.test(event)) && true,
      );
    await said(/^Normal ExternalExpanding waiting for an external controller to expand this PVC$/);
  }));
