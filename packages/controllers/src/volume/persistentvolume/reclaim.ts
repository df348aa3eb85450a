import { PersistentVolume } from "@dray/api/core/v1";
import { type Client, type EventRecorder, keyOf, type WorkQueue } from "@dray/client";
import type { VolumeCaches } from "./claim-binding.ts";
import { dataRemoval, isProvisioned } from "./local-path.ts";
import type { VolumeWrites } from "./writes.ts";

/** Milliseconds between two checks of a volume whose data is being removed, or could not be removed. */
const removalInterval = 1_000;
const retryInterval = 15_000;

interface VolumeReclaimParts {
  readonly client: Client;
  readonly caches: VolumeCaches;
  readonly writes: VolumeWrites;
  readonly recorder: EventRecorder;
  readonly claimQueue: WorkQueue;
}

/**
 * Releases a volume whose claim is gone, and removes it with its data where that was asked for.
 *
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, syncVolume.
 */
export class VolumeReclaim {
  readonly #parts: VolumeReclaimParts;

  constructor(parts: VolumeReclaimParts) {
    this.#parts = parts;
  }

  /** Returns the milliseconds after which to look again, 0 if that is not needed. */
  async reconcile(name: string): Promise<number> {
    const { claims, volumes } = this.#parts.caches;
    const volume = volumes.get({ name });
    if (volume === undefined) return 0;
    const { claimRef } = volume.spec ?? {};
    if (claimRef?.uid === undefined) {
      await this.#parts.writes.setVolumePhase(volume, "Available");
      return 0;
    }
    const claim = claims.get({ namespace: claimRef.namespace ?? "", name: claimRef.name ?? "" });
    if (claim !== undefined && claim.metadata.uid === claimRef.uid) {
      this.#parts.claimQueue.add(keyOf(claim.metadata));
      return 0;
    }
    await this.#parts.writes.setVolumePhase(volume, "Released");
    if (volume.spec?.persistentVolumeReclaimPolicy !== "Delete" || !isProvisioned(volume)) return 0;
    return this.#remove(volume);
  }

  async #remove(volume: PersistentVolume): Promise<number> {
    const { name, uid } = volume.metadata;
    const resource = this.#parts.client.resource(PersistentVolume);
    // Its data has been removed, and the pod that did it: nothing would remove another one. The cache may not
    // know yet.
    const current = await resource.get({ name });
    if (current.metadata.uid !== uid || current.metadata.deletionTimestamp !== undefined) return 0;
    const { nodes, pods } = this.#parts.caches;
    const done = await dataRemoval({
      client: this.#parts.client,
      volume,
      node: (node) => nodes.get({ name: node }),
      pod: (ref) => pods.get(ref),
      failed: (message) => this.#parts.recorder.event(volume, "Warning", "VolumeFailedDelete", message),
    });
    if (done !== "removed") return done === "failed" ? retryInterval : removalInterval;
    await resource.delete({ name });
    return 0;
  }
}
