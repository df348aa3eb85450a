import type { KubeObject } from "@dray/api";
import type { PersistentVolume, PersistentVolumeClaim } from "@dray/api/core/v1";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from "@dray/api/storage/v1";
import { classOfVolume, type VolumeLookup } from "../plugins/helper/volume-lookup.ts";
import type { VolumeWriter } from "../plugins/volume-binding/writer.ts";

/** Volumes of a cluster that exists in memory only. Volumes are bound as soon as they are chosen. */
export class OfflineVolumes implements VolumeLookup {
  readonly #claims = new Map<string, PersistentVolumeClaim>();
  readonly #volumes = new Map<string, PersistentVolume>();
  readonly #classes = new Map<string, StorageClass>();
  readonly #nodes = new Map<string, CSINode>();
  readonly #drivers = new Map<string, CSIDriver>();
  readonly #capacities: CSIStorageCapacity[] = [];
  readonly #attachments: VolumeAttachment[] = [];

  readonly writer: VolumeWriter = {
    volume: async (changed) => this.#setVolume(changed),
    claim: async (changed) => this.#setClaim(changed),
    exists: () => true,
    until: async () => true,
  };

  /** Returns false for an object of another kind. */
  add(object: KubeObject): boolean {
    const { name } = object.metadata;
    switch (object.kind) {
      case "PersistentVolumeClaim":
        this.#setClaim(object as PersistentVolumeClaim);
        return true;
      case "PersistentVolume":
        this.#setVolume(object as PersistentVolume);
        return true;
      case "StorageClass":
        this.#classes.set(name, object as StorageClass);
        return true;
      case "CSINode":
        this.#nodes.set(name, object as CSINode);
        return true;
      case "CSIDriver":
        this.#drivers.set(name, object as CSIDriver);
        return true;
      case "CSIStorageCapacity":
        this.#capacities.push(object as CSIStorageCapacity);
        return true;
      case "VolumeAttachment":
        this.#attachments.push(object as VolumeAttachment);
        return true;
      default:
        return false;
    }
  }

  #setClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
    this.#claims.set(`${claim.metadata.namespace}/${claim.metadata.name}`, claim);
    return claim;
  }

  #setVolume(volume: PersistentVolume): PersistentVolume {
    this.#volumes.set(volume.metadata.name, volume);
    return volume;
  }

  claim(namespace: string, name: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(`${namespace}/${name}`);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#volumes.get(name);
  }

  volumesOf(storageClass: string): readonly PersistentVolume[] {
    return [...this.#volumes.values()].filter((volume) => classOfVolume(volume) === storageClass);
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#classes.get(name);
  }

  csiNode(name: string): CSINode | undefined {
    return this.#nodes.get(name);
  }

  csiDriver(name: string): CSIDriver | undefined {
    return this.#drivers.get(name);
  }

  capacitiesOf(storageClass: string): readonly CSIStorageCapacity[] {
    return this.#capacities.filter((each) => each.storageClassName === storageClass);
  }

  attachmentsOn(node: string): readonly VolumeAttachment[] {
    return this.#attachments.filter(({ spec }) => spec.nodeName === node);
  }
}
