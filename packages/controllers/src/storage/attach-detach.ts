import { isDeepStrictEqual } from "node:util";
import { StatusError } from "@dray/api";
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { CSIDriver, VolumeAttachment } from "@dray/api/storage/v1";
import { hasReached } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import {
  attachmentName,
  isShared,
  uniqueNameOf,
  type WantedAttachment,
  wantedAttachments,
} from "./attachments.ts";

/** Milliseconds for which a node that is not ready may keep a volume. Upstream: maxWaitForUnmountDuration. */
const unmountTimeout = 6 * 60_000;
const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/**
 * Asks the drivers of CSI volumes to attach them to the nodes of their pods, and to detach them when no pod needs them
 * and the kubelet has unmounted them; says to kubelets what is attached.
 *
 * Upstream: pkg/controller/volume/attachdetach.
 */
export async function startAttachDetachController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const nodes = informers.of(Node);
  const pods = informers.of(Pod);
  const volumes = informers.of(PersistentVolume);
  const claims = informers.of(PersistentVolumeClaim);
  const attachments = informers.of(VolumeAttachment);
  await synced(context, [nodes, pods, volumes, claims, attachments, informers.of(CSIDriver)]);
  const recorder = recorderOf(context, "attachdetach-controller");
  /** Since when an attachment has not been needed, by its uid. */
  const unneeded = new Map<string, number>();
  const queues = controllerQueues(context);
  // One at a time: a volume must not be attached to two nodes at once.
  const queue = queues.queue("attach-detach", reconcile, 1);

  const podChanged = ({ spec }: Pod): void => {
    if (spec.nodeName && spec.volumes?.some((volume) => volume.persistentVolumeClaim || volume.ephemeral))
      queue.add(spec.nodeName);
  };
  pods.handle({ add: podChanged, update: podChanged, delete: podChanged });
  const attachmentChanged = ({ spec }: VolumeAttachment): void => {
    queue.add(spec.nodeName);
    // Others may wait for the volume.
    for (const other of attachments.list())
      if (other.spec.source.persistentVolumeName === spec.source.persistentVolumeName)
        queue.add(other.spec.nodeName);
  };
  attachments.handle({
    add: attachmentChanged,
    update: attachmentChanged,
    delete(attachment) {
      unneeded.delete(attachment.metadata.uid);
      for (const { metadata } of nodes.list()) queue.add(metadata.name);
    },
  });
  nodes.handle({
    update(node, old) {
      if (!isDeepStrictEqual(node.status?.volumesInUse, old.status?.volumesInUse))
        queue.add(node.metadata.name);
    },
    delete: ({ metadata }) => queue.add(metadata.name),
  });

  async function reconcile(name: string): Promise<void> {
    const node = nodes.get({ name });
    const wanted = wantedAttachments(informers, name);
    const own = attachments
      .list()
      .filter(({ spec }) => spec.nodeName === name && spec.source.persistentVolumeName !== undefined);
    const leaving: VolumeAttachment[] = [];
    let wait: number | undefined;
    for (const attachment of own) {
      if (wanted.has(attachment.spec.source.persistentVolumeName ?? "")) {
        unneeded.delete(attachment.metadata.uid);
        continue;
      }
      const left = timeLeft(attachment, node);
      if (left <= 0) leaving.push(attachment);
      else if (Number.isFinite(left)) wait = Math.min(left, wait ?? left);
    }
    // The kubelet must not mount any more what is detached.
    if (node !== undefined)
      await report(
        node,
        own.filter((one) => !leaving.includes(one)),
      );
    for (const attachment of leaving) await detach(attachment);
    for (const one of wanted.values()) await attach(one, name);
    if (wait !== undefined) queue.addAfter(name, wait);
  }

  /** Milliseconds until the attachment may go; infinite while the kubelet still has the volume. */
  function timeLeft({ metadata, spec }: VolumeAttachment, node: Node | undefined): number {
    if (node === undefined || metadata.deletionTimestamp !== undefined) return 0;
    const volume = volumes.get({ name: spec.source.persistentVolumeName ?? "" });
    const inUse = volume !== undefined && node.status?.volumesInUse?.includes(uniqueNameOf(volume)) === true;
    if (!inUse || node.spec?.taints?.some(({ key }) => key === outOfServiceTaint)) return 0;
    const since = unneeded.get(metadata.uid) ?? clock.now();
    unneeded.set(metadata.uid, since);
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    return ready ? Number.POSITIVE_INFINITY : since + unmountTimeout - clock.now();
  }

  async function attach(one: WantedAttachment, node: string): Promise<void> {
    const name = attachmentName(one, node);
    const present = attachments.get({ name });
    const volume = one.volume.metadata.name;
    if (present !== undefined) {
      const problem = present.status?.attachError?.message;
      if (problem !== undefined) warn(one, `AttachVolume.Attach failed for volume "${volume}" : ${problem}`);
      return;
    }
    const elsewhere = attachments
      .list()
      .some(({ spec }) => spec.source.persistentVolumeName === volume && spec.nodeName !== node);
    if (elsewhere && !isShared(one.volume)) {
      warn(
        one,
        `Multi-Attach error for volume "${volume}" Volume is already exclusively attached to one node and can't be attached to another`,
      );
      return;
    }
    try {
      const written = await client.resource(VolumeAttachment).create({
        metadata: { name },
        spec: { attacher: one.driver, nodeName: node, source: { persistentVolumeName: volume } },
      });
      await attachments.until(() => hasReached(attachments, written));
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
  }

  function warn({ pods }: WantedAttachment, message: string): void {
    for (const pod of pods) recorder.event(pod, "Warning", "FailedAttachVolume", message);
  }

  async function detach({ metadata: { name, uid, deletionTimestamp } }: VolumeAttachment): Promise<void> {
    if (deletionTimestamp !== undefined) return;
    try {
      await client.resource(VolumeAttachment).delete({ name }, { preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  /** Says to the kubelet what it may mount. */
  async function report(node: Node, own: readonly VolumeAttachment[]): Promise<void> {
    const { name, uid, resourceVersion } = node.metadata;
    const attached = own
      .filter(({ metadata, status }) => status?.attached === true && metadata.deletionTimestamp === undefined)
      .flatMap(({ spec }) => volumes.get({ name: spec.source.persistentVolumeName ?? "" }) ?? [])
      .map((volume) => ({ name: uniqueNameOf(volume), devicePath: "" }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const before = (node.status?.volumesAttached ?? []).map((one) => one.name).sort();
    if (before.join() === attached.map((one) => one.name).join()) return;
    const patch = { metadata: { uid, resourceVersion }, status: { volumesAttached: attached } };
    const written = await client.resource(Node).patch({ name }, "merge", patch, { subresource: "status" });
    await nodes.until(() => hasReached(nodes, written));
    for (const { name: uniqueName } of attached.filter((one) => !before.includes(one.name)))
      for (const { pods, ...one } of wantedAttachments(informers, name).values())
        if (one.uniqueName === uniqueName)
          for (const pod of pods)
            recorder.event(
              pod,
              "Normal",
              "SuccessfulAttachVolume",
              `AttachVolume.Attach succeeded for volume "${one.volume.metadata.name}" `,
            );
  }

  return queues.controller;
}
