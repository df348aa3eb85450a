import { StatusError } from "@dray/api";
import { type Node, PersistentVolume, PersistentVolumeClaim } from "@dray/api/core/v1";
import type { StorageClass } from "@dray/api/storage/v1";
import type { Client, EventRecorder } from "@dray/client";
import { localPathVolume } from "./local-path.ts";

const boundByController = "pv.kubernetes.io/bound-by-controller";
const storageProvisioner = "volume.kubernetes.io/storage-provisioner";
const betaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
const bindCompleted = "pv.kubernetes.io/bind-completed";

/** Reports whether the claim has had a volume. */
export function wasBound({ metadata }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.[bindCompleted] !== undefined;
}

/** Writes of the persistent volume controller, each of which is a step that may be repeated. */
export class VolumeWrites {
  readonly #client: Client;
  readonly #recorder: EventRecorder;

  constructor(client: Client, recorder: EventRecorder) {
    this.#client = client;
    this.#recorder = recorder;
  }

  /** The volume first: should this be cut off, the next look finds it by its reference. */
  async bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    await this.setVolumePhase(await this.#reserve(volume, claim), "Bound");
    const taken = await this.#take(volume, claim);
    if (taken.status?.phase === "Bound") return;
    const { accessModes, capacity } = volume.spec ?? {};
    const status = {
      ...taken.status,
      phase: "Bound",
      ...(accessModes === undefined ? {} : { accessModes }),
      ...(capacity === undefined ? {} : { capacity }),
    };
    await this.#client
      .resource(PersistentVolumeClaim)
      .update({ ...taken, status }, { subresource: "status" });
  }

  /** Names the claim in the volume. */
  async #reserve(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<PersistentVolume> {
    if (volume.spec?.claimRef?.uid === claim.metadata.uid) return volume;
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    const claimRef = {
      kind: "PersistentVolumeClaim",
      apiVersion: "v1",
      namespace,
      name,
      uid,
      resourceVersion,
    };
    const own = volume.spec?.claimRef === undefined ? { [boundByController]: "yes" } : {};
    return this.#client.resource(PersistentVolume).update({
      ...volume,
      metadata: { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...own } },
      spec: { ...volume.spec, claimRef },
    });
  }

  /** Names the volume in the claim. */
  async #take(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    if (claim.spec?.volumeName === volume.metadata.name && wasBound(claim)) return claim;
    const own = claim.spec?.volumeName ? {} : { [boundByController]: "yes" };
    const annotations = { ...claim.metadata.annotations, ...own, [bindCompleted]: "yes" };
    return this.#client.resource(PersistentVolumeClaim).update({
      ...claim,
      metadata: { ...claim.metadata, annotations },
      spec: { ...claim.spec, volumeName: volume.metadata.name },
    });
  }

  async setVolumePhase(volume: PersistentVolume, phase: string): Promise<void> {
    if (volume.status?.phase === phase) return;
    await this.#client
      .resource(PersistentVolume)
      .update({ ...volume, status: { ...volume.status, phase } }, { subresource: "status" });
  }

  async setClaimPhase(claim: PersistentVolumeClaim, phase: string): Promise<void> {
    if (claim.status?.phase === phase) return;
    await this.#client
      .resource(PersistentVolumeClaim)
      .update({ ...claim, status: { ...claim.status, phase } }, { subresource: "status" });
  }

  async lose(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.status?.phase === "Lost") return;
    await this.setClaimPhase(claim, "Lost");
    const message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    this.#recorder.event(claim, "Warning", "ClaimLost", message);
  }

  async setClass(claim: PersistentVolumeClaim, storageClassName: string): Promise<void> {
    await this.#client
      .resource(PersistentVolumeClaim)
      .update({ ...claim, spec: { ...claim.spec, storageClassName } });
  }

  /** Provisioners outside wait for these annotations. */
  async setProvisioner(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    if (claim.metadata.annotations?.[storageProvisioner] === provisioner) return;
    const annotations = {
      ...claim.metadata.annotations,
      [betaStorageProvisioner]: provisioner,
      [storageProvisioner]: provisioner,
    };
    await this.#client
      .resource(PersistentVolumeClaim)
      .update({ ...claim, metadata: { ...claim.metadata, annotations } });
  }

  /** Makes a volume on the node. */
  async provision(claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node): Promise<void> {
    const volume = localPathVolume(claim, storageClass, node);
    try {
      await this.#client.resource(PersistentVolume).create(volume);
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
      return;
    }
    const message = `Successfully provisioned volume ${volume.metadata.name}`;
    this.#recorder.event(claim, "Normal", "ProvisioningSucceeded", message);
  }
}
