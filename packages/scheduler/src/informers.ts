import { type Features, type Kind, StatusError } from "@dray/api";
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
import { podClaimName } from "@dray/api/pod";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { DeviceTaintRule as DeviceTaintRuleV1alpha3 } from "@dray/api/resource/v1alpha3";
import { DeviceTaintRule as DeviceTaintRuleV1beta2 } from "@dray/api/resource/v1beta2";
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment } from "@dray/api/storage/v1";
import { type Client, type Informer, keyOf, type Log } from "@dray/client";
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

/**
 * Taint rules in the version that the release prefers. Before 1.37 it has to be switched on (`--runtime-config`);
 * undefined: the server does not have it, or the gate is off.
 */
export async function taintRules(
  client: Client,
  features: Features,
  log: Log,
): Promise<Kind<DeviceTaintRule> | undefined> {
  if (!features.enabled("DRADeviceTaintRules")) return undefined;
  if (features.version >= "1.37") return DeviceTaintRule;
  // They differ from v1 in nothing that is looked at here.
  const kind = features.version >= "1.36" ? DeviceTaintRuleV1beta2 : DeviceTaintRuleV1alpha3;
  const path = `/apis/${kind.group}/${kind.version}`;
  try {
    const { resources } = JSON.parse(await client.text("GET", path)) as { resources: { name: string }[] };
    if (resources.some(({ name }) => name === kind.resource)) return kind as unknown as Kind<DeviceTaintRule>;
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
  }
  log.warn({ path }, `taint rules have no effect: the server does not serve ${kind.resource} in ${path}`);
  return undefined;
}

export function createInformers(client: Client, rules: Kind<DeviceTaintRule> | undefined): Informers {
  return {
    claims: client.informer(ResourceClaim, {
      indexes: { device: claimsByDevice, extended: extendedClaimOwner },
    }),
    classes: client.informer(DeviceClass, { indexes: { resource: resourcesOf } }),
    slices: client.informer(ResourceSlice),
    ...(rules && { rules: client.informer(rules) }),
    nodes: client.informer(Node),
    pods: client.informer(Pod, { indexes: { claim: claimsOfPod } }),
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

/** Index of pods: by the keys of the claims that they use. */
function claimsOfPod(pod: Pod): readonly string[] {
  return (pod.spec.resourceClaims ?? []).flatMap((entry) => {
    const name = podClaimName(pod, entry);
    return name ? [keyOf({ namespace: pod.metadata.namespace, name })] : [];
  });
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
