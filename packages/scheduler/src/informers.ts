import type { Features } from "@dray/api";
import { ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import {
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ReplicationController,
  Service,
} from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment } from "@dray/api/storage/v1";
import type { Client, Informer } from "@dray/client";
import { claimsByDevice } from "./plugins/claim-writer.ts";
import { extendedClaimOwner, resourcesOf } from "./plugins/extended-resources.ts";
import { classOfVolume, type VolumeLookup } from "./plugins/volume-lookup.ts";

/** The caches of what the scheduler looks at. */
export interface Informers {
  readonly claims: Informer<ResourceClaim>;
  readonly classes: Informer<DeviceClass>;
  readonly slices: Informer<ResourceSlice>;
  /** Absent where the release does not have them, or not in a version that is served by default. */
  readonly rules?: Informer<DeviceTaintRule>;
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly namespaces: Informer<Namespace>;
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly volumeClaims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly storageClasses: Informer<StorageClass>;
  readonly csiNodes: Informer<CSINode>;
  readonly csiDrivers: Informer<CSIDriver>;
  readonly csiCapacities: Informer<CSIStorageCapacity>;
  readonly attachments: Informer<VolumeAttachment>;
  /** What tells which pods belong together; nothing waits for them. */
  readonly services: Informer<Service>;
  readonly replicationControllers: Informer<ReplicationController>;
  readonly replicaSets: Informer<ReplicaSet>;
  readonly statefulSets: Informer<StatefulSet>;
}

export function createInformers(client: Client, features: Features): Informers {
  const hasRules = features.enabled("DRADeviceTaintRules") && features.version === "1.37";
  return {
    claims: client.informer(ResourceClaim, {
      indexes: { device: claimsByDevice, extended: extendedClaimOwner },
    }),
    classes: client.informer(DeviceClass, { indexes: { resource: resourcesOf } }),
    slices: client.informer(ResourceSlice),
    ...(hasRules && { rules: client.informer(DeviceTaintRule) }),
    nodes: client.informer(Node),
    pods: client.informer(Pod),
    namespaces: client.informer(Namespace),
    budgets: client.informer(PodDisruptionBudget),
    volumeClaims: client.informer(PersistentVolumeClaim),
    volumes: client.informer(PersistentVolume, { indexes: { class: (volume) => [classOfVolume(volume)] } }),
    storageClasses: client.informer(StorageClass),
    csiNodes: client.informer(CSINode),
    csiDrivers: client.informer(CSIDriver),
    csiCapacities: client.informer(CSIStorageCapacity, {
      indexes: { class: ({ storageClassName }) => [storageClassName] },
    }),
    attachments: client.informer(VolumeAttachment, { indexes: { node: ({ spec }) => [spec.nodeName] } }),
    services: client.informer(Service, {
      indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ""] },
    }),
    replicationControllers: client.informer(ReplicationController),
    replicaSets: client.informer(ReplicaSet),
    statefulSets: client.informer(StatefulSet),
  };
}

/** Resolves when all caches are complete. */
export async function startInformers(informers: Informers, signal: AbortSignal): Promise<void> {
  // Pods last: what they wait for is known by then.
  const { pods, ...others } = informers;
  await Promise.all([...Object.values(others), pods].map((informer) => informer.start(signal)));
}

export function volumeLookup(informers: Informers): VolumeLookup {
  const { volumeClaims, volumes, storageClasses, csiNodes, csiDrivers, csiCapacities, attachments } =
    informers;
  return {
    claim: (namespace, name) => volumeClaims.get({ namespace, name }),
    volume: (name) => volumes.get({ name }),
    volumesOf: (storageClass) => volumes.byIndex("class", storageClass),
    storageClass: (name) => storageClasses.get({ name }),
    csiNode: (name) => csiNodes.get({ name }),
    csiDriver: (name) => csiDrivers.get({ name }),
    capacitiesOf: (storageClass) => csiCapacities.byIndex("class", storageClass),
    attachmentsOn: (node) => attachments.byIndex("node", node),
  };
}
