import { isDeepStrictEqual } from "node:util";
import { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { CSIDriver, VolumeAttachment } from "@dray/api/storage/v1";
import type { WorkQueue } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../../shared/context.ts";
import type { Informers } from "../../shared/informers.ts";
import {
  attachmentName,
  isShared,
  uniqueNameOf,
  type WantedAttachment,
  wantedAttachments,
} from "./attachments.ts";
import { AttachWrites } from "./writes.ts";

/** Milliseconds for which a node that is not ready may keep a volume. Upstream: maxWaitForUnmountDuration. */
const unmountTimeout = 6 * 60_000;
const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/**
 * Asks the drivers of CSI volumes to attach them to the nodes of their pods, and to detach them when no pod
 * needs them and the kubelet has unmounted them; says to kubelets what is attached.
 *
 * Upstream: pkg/controller/volume/attachdetach.
 */
export async function startAttachDetachController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  await synced(context, [
    informers.of(Node),
    informers.of(Pod),
    informers.of(PersistentVolume),
    informers.of(PersistentVolumeClaim),
    informers.of(VolumeAttachment),
    informers.of(CSIDriver),
  ]);
  const writes = new AttachWrites(client, informers, recorderOf(context, "attachdetach-controller"));
  const sync = new AttachSync(context, writes);
  const queues = controllerQueues(context);
  // One at a time: a volume must not be attached to two nodes at once.
  const queue = queues.queue(
    "attach-detach",
    async (name) => {
      const wait = await sync.reconcile(name);
      if (wait !== undefined) queue.addAfter(name, wait);
    },
    1,
  );
  follow(informers, queue, (attachment) => sync.forget(attachment));
  return queues.controller;
}

/** Adds the nodes that a change concerns. */
function follow(
  informers: Informers,
  queue: WorkQueue,
  forget: (attachment: VolumeAttachment) => void,
): void {
  const nodes = informers.of(Node);
  const attachments = informers.of(VolumeAttachment);
  const podChanged = ({ spec }: Pod): void => {
    if (spec.nodeName && spec.volumes?.some((volume) => volume.persistentVolumeClaim || volume.ephemeral))
      queue.add(spec.nodeName);
  };
  informers.of(Pod).handle({ add: podChanged, update: podChanged, delete: podChanged });
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
      forget(attachment);
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
}

/** Brings the attachments of one node to what its pods need. */
class AttachSync {
  readonly #context: ControllerContext;
  readonly #writes: AttachWrites;
  /** Since when an attachment has not been needed, by its uid. */
  readonly #unneeded = new Map<string, number>();
  /** Uids of attachments that had the name that we give them, while their volume was there. */
  readonly #ours = new Set<string>();

  constructor(context: ControllerContext, writes: AttachWrites) {
    this.#context = context;
    this.#writes = writes;
  }

  forget({ metadata }: VolumeAttachment): void {
    this.#unneeded.delete(metadata.uid);
    this.#ours.delete(metadata.uid);
  }

  /** Others make attachments, too. Upstream's controller detaches by the name that it would have given. */
  #isOurs({ metadata: { name, uid }, spec }: VolumeAttachment): boolean {
    const volume = this.#volume(spec.source.persistentVolumeName);
    if (volume !== undefined && attachmentName(volume, spec.nodeName) === name) this.#ours.add(uid);
    return this.#ours.has(uid);
  }

  /** Returns the milliseconds after which an attachment that is kept may go. */
  async reconcile(name: string): Promise<number | undefined> {
    const { informers } = this.#context;
    const node = informers.of(Node).get({ name });
    const wanted = wantedAttachments(informers, name);
    const own = informers
      .of(VolumeAttachment)
      .list()
      .filter((attachment) => attachment.spec.nodeName === name && this.#isOurs(attachment));
    const { leaving, wait } = this.#sort(own, wanted, node);
    // The kubelet must not mount any more what is detached.
    if (node !== undefined)
      await this.#writes.report(node, this.#attached(own.filter((one) => !leaving.includes(one))));
    for (const attachment of leaving) await this.#writes.detach(attachment);
    for (const one of wanted.values()) await this.#attach(one, name);
    return wait;
  }

  /** The attachments that go now, and the milliseconds until the next may. */
  #sort(
    own: readonly VolumeAttachment[],
    wanted: ReadonlyMap<string, WantedAttachment>,
    node: Node | undefined,
  ): { readonly leaving: VolumeAttachment[]; readonly wait: number | undefined } {
    const leaving: VolumeAttachment[] = [];
    let wait: number | undefined;
    for (const attachment of own) {
      if (wanted.has(attachment.spec.source.persistentVolumeName ?? "")) {
        this.#unneeded.delete(attachment.metadata.uid);
        continue;
      }
      const left = this.#timeLeft(attachment, node);
      if (left <= 0) leaving.push(attachment);
      else if (Number.isFinite(left)) wait = Math.min(left, wait ?? left);
    }
    return { leaving, wait };
  }

  /** Milliseconds until the attachment may go; infinite while the kubelet still has the volume. */
  #timeLeft({ metadata, spec }: VolumeAttachment, node: Node | undefined): number {
    const { clock } = this.#context;
    if (node === undefined || metadata.deletionTimestamp !== undefined) return 0;
    const volume = this.#volume(spec.source.persistentVolumeName);
    const inUse = volume !== undefined && node.status?.volumesInUse?.includes(uniqueNameOf(volume)) === true;
    if (!inUse || node.spec?.taints?.some(({ key }) => key === outOfServiceTaint)) return 0;
    const since = this.#unneeded.get(metadata.uid) ?? clock.now();
    this.#unneeded.set(metadata.uid, since);
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    return ready ? Number.POSITIVE_INFINITY : since + unmountTimeout - clock.now();
  }

  #volume(name = ""): PersistentVolume | undefined {
    return this.#context.informers.of(PersistentVolume).get({ name });
  }

  /** Volumes that the kubelet may mount (`status.volumesAttached` of its Node). */
  #attached(own: readonly VolumeAttachment[]): { name: string; devicePath: string }[] {
    return own
      .filter(({ metadata, status }) => status?.attached === true && metadata.deletionTimestamp === undefined)
      .flatMap(({ spec }) => this.#volume(spec.source.persistentVolumeName) ?? [])
      .map((volume) => ({ name: uniqueNameOf(volume), devicePath: "" }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #attach(one: WantedAttachment, node: string): Promise<void> {
    const attachments = this.#context.informers.of(VolumeAttachment);
    const name = attachmentName(one.volume, node);
    const present = attachments.get({ name });
    const volume = one.volume.metadata.name;
    if (present !== undefined) {
      const problem = present.status?.attachError?.message;
      if (problem !== undefined)
        this.#writes.warn(one, `AttachVolume.Attach failed for volume "${volume}" : ${problem}`);
      return;
    }
    const elsewhere = attachments
      .list()
      .some(({ spec }) => spec.source.persistentVolumeName === volume && spec.nodeName !== node);
    if (!elsewhere || isShared(one.volume)) return this.#writes.attach(name, one, node);
    this.#writes.warn(
      one,
      `Multi-Attach error for volume "${volume}" Volume is already exclusively attached to one node and can't be attached to another`,
    );
  }
}
