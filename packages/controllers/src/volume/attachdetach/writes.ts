import { StatusError } from "@dray/api";
import { Node, type PersistentVolume } from "@dray/api/core/v1";
import { VolumeAttachment } from "@dray/api/storage/v1";
import { type Client, type EventRecorder, hasReached, type Informer } from "@dray/client";
import type { Informers } from "../../shared/informers.ts";
import { type WantedAttachment, wantedAttachments } from "./attachments.ts";

/** Writes of the attach-detach controller. */
export class AttachWrites {
  readonly #client: Client;
  readonly #informers: Informers;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #recorder: EventRecorder;

  constructor(client: Client, informers: Informers, recorder: EventRecorder) {
    this.#client = client;
    this.#informers = informers;
    this.#attachments = informers.of(VolumeAttachment);
    this.#recorder = recorder;
  }

  async attach(name: string, { driver, volume }: WantedAttachment, nodeName: string): Promise<void> {
    const source = { persistentVolumeName: volume.metadata.name };
    try {
      const written = await this.#client
        .resource(VolumeAttachment)
        .create({ metadata: { name }, spec: { attacher: driver, nodeName, source } });
      await this.#attachments.until(() => hasReached(this.#attachments, written));
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
  }

  warn({ pods }: WantedAttachment, message: string): void {
    for (const pod of pods) this.#recorder.event(pod, "Warning", "FailedAttachVolume", message);
  }

  async detach({ metadata: { name, uid, deletionTimestamp } }: VolumeAttachment): Promise<void> {
    if (deletionTimestamp !== undefined) return;
    try {
      await this.#client.resource(VolumeAttachment).delete({ name }, { preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  /** Says to the kubelet which volumes it may mount, by their unique names. */
  async report(node: Node, attached: readonly { name: string; devicePath: string }[]): Promise<void> {
    const { name, uid, resourceVersion } = node.metadata;
    const before = (node.status?.volumesAttached ?? []).map((one) => one.name).sort();
    if (before.join() === attached.map((one) => one.name).join()) return;
    const nodes = this.#informers.of(Node);
    const patch = { metadata: { uid, resourceVersion }, status: { volumesAttached: attached } };
    const written = await this.#client
      .resource(Node)
      .patch({ name }, "merge", patch, { subresource: "status" });
    await nodes.until(() => hasReached(nodes, written));
    const fresh = new Set(attached.map((one) => one.name).filter((one) => !before.includes(one)));
    for (const { pods, uniqueName, volume } of wantedAttachments(this.#informers, name).values())
      if (fresh.has(uniqueName)) for (const pod of pods) this.#reportAttached(pod, volume);
  }

  #reportAttached(pod: WantedAttachment["pods"][number], { metadata }: PersistentVolume): void {
    const message = `AttachVolume.Attach succeeded for volume "${metadata.name}" `;
    this.#recorder.event(pod, "Normal", "SuccessfulAttachVolume", message);
  }
}
