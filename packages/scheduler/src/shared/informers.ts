import { type Features, type Kind, type KubeObject, StatusError, type Wire } from "@dray/api";
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
import type { APIResourceList } from "@dray/api/meta/v1";
import { createdPodClaims } from "@dray/api/pod";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { DeviceTaintRule as DeviceTaintRuleV1alpha3 } from "@dray/api/resource/v1alpha3";
import { DeviceTaintRule as DeviceTaintRuleV1beta2 } from "@dray/api/resource/v1beta2";
import { PodGroup as PodGroupV1alpha2 } from "@dray/api/scheduling/v1alpha2";
import { CompositePodGroup, PodGroup as PodGroupV1alpha3 } from "@dray/api/scheduling/v1alpha3";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment } from "@dray/api/storage/v1";
import { type Client, type Informer, keyOf, type Log } from "@dray/client";
import { claimsByDevice } from "../plugins/dynamic-resources/claim-writer.ts";
import { extendedClaimOwner, resourcesOf } from "../plugins/dynamic-resources/extended-resources.ts";
import { classOfVolume, type VolumeLookup } from "../plugins/helper/volume-lookup.ts";
import { hasPodGroups } from "../podgroup/pod-groups.ts";

/** The scheduler's informers. */
export interface Informers {
  readonly claims: Informer<ResourceClaim>;
  readonly classes: Informer<DeviceClass>;
  readonly slices: Informer<ResourceSlice>;
  /** Absent where the gate is off, or the server serves no version of them. */
  readonly rules?: Informer<DeviceTaintRule>;
  /** Absent where groups are off, or not served. */
  readonly groups?: Informer<PodGroup>;
  /** Absent where groups of groups are off, or not served. */
  readonly composites?: Informer<CompositePodGroup>;
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
  /** Objects that select related pods; nothing waits for their caches. */
  readonly services: Informer<Service>;
  readonly replicationControllers: Informer<ReplicationController>;
  readonly replicaSets: Informer<ReplicaSet>;
  readonly statefulSets: Informer<StatefulSet>;
}

/** Kinds whose version depends on the release; absent: the gate is off, or the server does not have them. */
export interface ServedKinds {
  readonly rules?: Kind<DeviceTaintRule>;
  readonly groups?: Kind<PodGroup>;
  readonly composites?: Kind<CompositePodGroup>;
}

/** Versions of a kind without differences that matter here, newest first: they are read as the newest. */
const ruleKinds = [
  DeviceTaintRule,
  DeviceTaintRuleV1beta2,
  DeviceTaintRuleV1alpha3,
] as readonly Kind<DeviceTaintRule>[];
const groupKinds = [PodGroup, PodGroupV1alpha3, PodGroupV1alpha2] as readonly Kind<PodGroup>[];

/**
 * Before a kind is stable its version has to be switched on (`--runtime-config`); where it is not, a warning
 * says so.
 */
export async function servedKinds(client: Client, features: Features, log: Log): Promise<ServedKinds> {
  const rules = features.enabled("DRADeviceTaintRules")
    ? await newestServed(client, ruleKinds, "taint rules have no effect", log)
    : undefined;
  const groups = hasPodGroups(features)
    ? await newestServed(client, groupKinds, "pods of groups are scheduled one by one", log)
    : undefined;
  const composites =
    groups && features.enabled("CompositePodGroup")
      ? await newestServed(client, [CompositePodGroup], "groups in groups are scheduled on their own", log)
      : undefined;
  return { ...(rules && { rules }), ...(groups && { groups }), ...(composites && { composites }) };
}

async function newestServed<T extends KubeObject>(
  client: Client,
  kinds: readonly Kind<T>[],
  consequence: string,
  log: Log,
): Promise<Kind<T> | undefined> {
  for (const kind of kinds) if (await isServed(client, kind)) return kind;
  const versions = kinds.map(({ version }) => version).join(", ");
  const { group, resource } = kinds[0]!;
  log.warn({}, `${consequence}: the server does not serve ${resource} of ${group} (${versions})`);
  return undefined;
}

async function isServed({ text }: Client, { group, version, resource }: Kind<KubeObject>): Promise<boolean> {
  try {
    const list = JSON.parse(await text("GET", `/apis/${group}/${version}`)) as Wire<APIResourceList>;
    return (list.resources ?? []).some(({ name }) => name === resource);
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
    return false;
  }
}

export function createInformers(client: Client, { rules, groups, composites }: ServedKinds): Informers {
  return {
    claims: client.informer(ResourceClaim, {
      indexes: { device: claimsByDevice, extended: extendedClaimOwner },
    }),
    classes: client.informer(DeviceClass, { indexes: { resource: resourcesOf } }),
    slices: client.informer(ResourceSlice),
    ...(rules && { rules: client.informer(rules) }),
    ...(groups && { groups: client.informer(groups, { indexes: { parent: parentOf } }) }),
    ...(composites && { composites: client.informer(composites, { indexes: { parent: parentOf } }) }),
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

/** Index of groups: by the key of the group around them. */
function parentOf({ metadata: { namespace }, spec }: PodGroup | CompositePodGroup): readonly string[] {
  const name = spec.parentCompositePodGroupName;
  return name === undefined ? [] : [keyOf({ namespace, name })];
}

/** Index of pods: by the keys of the claims that they use. */
function claimsOfPod(pod: Pod): readonly string[] {
  return createdPodClaims(pod).map(({ name }) => keyOf({ namespace: pod.metadata.namespace, name }));
}

/** Resolves when all caches are complete. */
export async function startInformers(informers: Informers, signal: AbortSignal): Promise<void> {
  // Pods last: the caches they depend on are complete by then.
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
