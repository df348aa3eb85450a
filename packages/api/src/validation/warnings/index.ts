/** What a valid object is warned of: each kind's WarningsOnCreate and WarningsOnUpdate. */
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../../generated/apps/v1.ts";
import type { CronJob, Job, JobSpec } from "../../generated/batch/v1.ts";
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  Pod,
  PodTemplate,
  ReplicationController,
  Service,
  ServiceAccount,
} from "../../generated/core/v1.ts";
import type { EndpointSlice } from "../../generated/discovery/v1.ts";
import type { Ingress } from "../../generated/networking/v1.ts";
import type { RuntimeClass } from "../../generated/node/v1.ts";
import type { ResourceSlice } from "../../generated/resource/v1.ts";
import type { CSIDriver, CSIStorageCapacity, StorageClass } from "../../generated/storage/v1.ts";
import type { KubeObject } from "../../objects/object.ts";
import { quoted } from "../../text/quoted.ts";
import { dnsLabel } from "../../values/names.ts";
import { networkWarnings } from "../address.ts";
import { sameValue } from "../field.ts";
import type { GroupKind } from "../index.ts";
import {
  endpointsAddressWarnings,
  policyAddressWarnings,
  serviceAddressWarnings,
  sliceAddressWarnings,
  statusAddressWarnings,
} from "./addresses.ts";
import { labelDeprecation, termWarnings } from "./node-labels.ts";
import { fractionWarnings, podWarnings } from "./pod.ts";

type Warn = (object: never, old: KubeObject | undefined) => string[];

function nameWarnings(object: KubeObject, use: string): string[] {
  const problems = dnsLabel(object.metadata.name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(" ")}]`,
  ];
}

/** Templates are looked at again when anything but metadata and status has changed. */
const changed = (object: KubeObject, old: KubeObject | undefined): boolean =>
  old === undefined || object.metadata.generation !== old.metadata.generation;

/** A kind that makes pods named after it. */
function makesPods<T extends KubeObject>(template: (object: T) => string[]): Warn {
  return (object: T, old: KubeObject | undefined): string[] => [
    ...(old === undefined ? nameWarnings(object, "Pod names and hostnames") : []),
    ...(changed(object, old) ? template(object) : []),
  ];
}

const manyCompletions = 100_000;
const manyAtOnce = 10_000;

function jobWarnings(path: string, spec: JobSpec | undefined): string[] {
  const many =
    spec?.completionMode === "Indexed" &&
    (spec.completions ?? 0) > manyCompletions &&
    (spec.parallelism ?? 0) > manyAtOnce;
  return [
    ...(many
      ? [
          `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...podWarnings(`${path}.template.`, spec?.template),
  ];
}

function claimWarnings(path: string, spec: PersistentVolumeClaimSpec | undefined): string[] {
  return [
    ...fractionWarnings(`${path}.resources.requests`, spec?.resources?.requests),
    ...fractionWarnings(`${path}.resources.limits`, spec?.resources?.limits),
  ];
}

const betaStorageClass = "volume.beta.kubernetes.io/storage-class";

function annotationWarnings(object: KubeObject, texts: Readonly<Record<string, string>>): string[] {
  return Object.entries(texts)
    .filter(([key]) => Object.hasOwn(object.metadata.annotations ?? {}, key))
    .map(([key, text]) => `metadata.annotations[${key}]: ${text}`);
}

function statefulSetWarnings(object: StatefulSet, old: KubeObject | undefined): string[] {
  const { spec } = object;
  // Upstream writes this one name with a capital on updates.
  const name = old === undefined ? "" : ".Spec";
  return [
    ...(changed(object, old) ? podWarnings("spec.template.", spec?.template) : []),
    ...(spec?.volumeClaimTemplates ?? []).flatMap((claim, index) =>
      claimWarnings(`spec.volumeClaimTemplates[${index}]${name}`, claim.spec),
    ),
    ...((spec?.revisionHistoryLimit ?? 0) < 0
      ? [
          "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        ]
      : []),
  ];
}

function volumeWarnings(volume: PersistentVolume): string[] {
  const { spec } = volume;
  const types = {
    cephfs: "deprecated in v1.28, non-functional in v1.31+",
    photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
    scaleIO: "deprecated in v1.16, non-functional in v1.22+",
    storageos: "deprecated in v1.22, non-functional in v1.25+",
    glusterfs: "deprecated in v1.25, non-functional in v1.26+",
    rbd: "deprecated in v1.28, non-functional in v1.31+",
  } as const;
  return [
    ...annotationWarnings(volume, {
      [betaStorageClass]: 'deprecated since v1.8; use "storageClassName" attribute instead',
      "volume.beta.kubernetes.io/mount-options":
        'deprecated since v1.31; use "mountOptions" attribute instead',
    }),
    ...(spec?.persistentVolumeReclaimPolicy === "Recycle"
      ? [
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        ]
      : []),
    ...(spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).flatMap((term, index) =>
      termWarnings(`spec.nodeAffinity.required.nodeSelectorTerms[${index}]`, term, false),
    ),
    ...Object.entries(types)
      .filter(([name]) => spec?.[name as keyof typeof types])
      .map(([name, text]) => `spec.${name === "storageos" ? "storageOS" : name}: ${text}`),
  ];
}

function serviceWarnings(service: Service): string[] {
  const { spec } = service;
  const headless = spec?.type === "ClusterIP" && spec.clusterIP === "None";
  const external = spec?.type === "ExternalName";
  const addresses = (spec?.externalIPs ?? []).length > 0;
  const topology = "service.kubernetes.io/topology-aware-hints";
  const ofAddresses = serviceAddressWarnings(service);
  const texts: [boolean, string][] = [
    [
      Object.hasOwn(service.metadata.annotations ?? {}, topology),
      `annotation ${topology} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    ],
    ...ofAddresses.cluster.map((text): [boolean, string] => [true, text]),
    [headless && !!spec.loadBalancerIP, "spec.loadBalancerIP is ignored for headless services"],
    [headless && addresses, "spec.externalIPs is ignored for headless services"],
    [headless && spec.sessionAffinity !== "None", "spec.SessionAffinity is ignored for headless services"],
    ...ofAddresses.external.map((text): [boolean, string] => [true, text]),
    [
      addresses && !headless && !external,
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    ],
    ...ofAddresses.others.map((text): [boolean, string] => [true, text]),
    [external && addresses, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [!external && !!spec?.externalName, 'spec.externalName is ignored when spec.type is not "ExternalName"'],
    [
      spec?.trafficDistribution === "PreferClose",
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ];
  return texts.filter(([holds]) => holds).map(([, text]) => text);
}

const mountableSecrets = "kubernetes.io/enforce-mountable-secrets";

function accountWarnings(account: ServiceAccount, old: KubeObject | undefined): string[] {
  if (Object.hasOwn(old?.metadata.annotations ?? {}, mountableSecrets)) return [];
  return annotationWarnings(account, {
    [mountableSecrets]:
      "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
  });
}

function capacityWarnings({ nodeTopology }: CSIStorageCapacity): string[] {
  return [
    ...termWarnings("nodeTopology", { matchExpressions: nodeTopology?.matchExpressions ?? [] }, false),
    ...Object.keys(nodeTopology?.matchLabels ?? {}).flatMap((label) => {
      const why = labelDeprecation(label);
      return why === undefined ? [] : [`nodeTopology.matchLabels.${label}: ${why}`];
    }),
  ];
}

function classWarnings({ allowedTopologies }: StorageClass): string[] {
  return (allowedTopologies ?? []).flatMap(({ matchLabelExpressions }, index) =>
    (matchLabelExpressions ?? []).flatMap(({ key }, place) => {
      const why = labelDeprecation(key);
      const path = `allowedTopologies[${index}].matchLabelExpressions[${place}].key`;
      return why === undefined ? [] : [`${path}: ${why}`];
    }),
  );
}

const warnings: Readonly<Record<string, Warn | undefined>> = {
  Pod: (pod: Pod, old) =>
    old === undefined ? [...nameWarnings(pod, "the Pod's hostname"), ...podWarnings("", pod)] : [],
  PodTemplate: (object: PodTemplate, old) =>
    changed(object, old) ? podWarnings("template.", object.template) : [],
  // Of an update upstream is warned of the template that there was.
  ReplicationController: (object: ReplicationController, old) =>
    makesPods(() => podWarnings("spec.template.", ((old ?? object) as ReplicationController).spec?.template))(
      object as never,
      old,
    ),
  "ReplicaSet.apps": makesPods<ReplicaSet>(({ spec }) => podWarnings("spec.template.", spec?.template)),
  "Deployment.apps": makesPods<Deployment>(({ spec }) => podWarnings("spec.template.", spec?.template)),
  "DaemonSet.apps": (object: DaemonSet, old) =>
    changed(object, old) ? podWarnings("spec.template.", object.spec?.template) : [],
  "StatefulSet.apps": statefulSetWarnings,
  "Job.batch": makesPods<Job>(({ spec }) => jobWarnings("spec", spec)),
  "CronJob.batch": makesPods<CronJob>(({ spec }) =>
    jobWarnings("spec.jobTemplate.spec", spec?.jobTemplate?.spec),
  ),
  Node: ({ spec }: Node) => [
    ...(spec?.configSource ? ["spec.configSource: the feature is removed"] : []),
    ...(spec?.externalID ? ["spec.externalID: this field is deprecated, and is unused by Kubernetes"] : []),
    ...(spec?.podCIDRs ?? []).flatMap((network, index) =>
      networkWarnings(`spec.podCIDRs[${index}]`, network),
    ),
  ],
  PersistentVolume: volumeWarnings,
  PersistentVolumeClaim: (claim: PersistentVolumeClaim) => [
    ...annotationWarnings(claim, {
      [betaStorageClass]: 'deprecated since v1.8; use "storageClassName" attribute instead',
    }),
    ...claimWarnings("spec", claim.spec),
  ],
  Service: serviceWarnings,
  ServiceAccount: accountWarnings,
  Endpoints: endpointsAddressWarnings,
  "NetworkPolicy.networking.k8s.io": policyAddressWarnings,
  "EndpointSlice.discovery.k8s.io": (slice: EndpointSlice, old) => [
    ...(old === undefined && slice.addressType === "FQDN"
      ? ["spec.addressType: FQDN endpoints are deprecated"]
      : []),
    ...sliceAddressWarnings(slice),
  ],
  "Ingress.networking.k8s.io": (ingress: Ingress, old) =>
    old === undefined &&
    !ingress.spec?.ingressClassName &&
    Object.hasOwn(ingress.metadata.annotations ?? {}, "kubernetes.io/ingress.class")
      ? [`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  "RuntimeClass.node.k8s.io": ({ scheduling }: RuntimeClass) =>
    Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => {
      const why = labelDeprecation(key);
      return why === undefined ? [] : [`scheduling.nodeSelector: ${why}`];
    }),
  "CSIDriver.storage.k8s.io": ({ spec }: CSIDriver, old) =>
    (spec?.tokenRequests ?? []).length > 0 &&
    spec.serviceAccountTokenInSecrets === undefined &&
    !sameValue(spec.tokenRequests, (old as CSIDriver | undefined)?.spec?.tokenRequests)
      ? [
          "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
        ]
      : [],
  "CSIStorageCapacity.storage.k8s.io": capacityWarnings,
  "StorageClass.storage.k8s.io": classWarnings,
  "ResourceSlice.resource.k8s.io": ({ spec }: ResourceSlice) =>
    spec.driver && spec.driver !== spec.driver.toLowerCase()
      ? [
          `spec.driver: driver names should be lowercase; ${quoted(spec.driver)} contains uppercase characters`,
        ]
      : [],
};

/** Kinds whose status holds addresses. */
const addressed = new Set(["Pod", "Service", "Ingress.networking.k8s.io"]);

/** What a valid object is warned of; without `old` it is a new one. Of subresources only `status` has warnings. */
export function warningsFor(
  { group, kind }: GroupKind,
  object: KubeObject,
  old: KubeObject | undefined,
  subresource: string,
): string[] {
  const name = group === "" ? kind : `${kind}.${group}`;
  if (subresource === "status" && addressed.has(name)) return statusAddressWarnings(object as never);
  return subresource === "" ? (warnings[name]?.(object as never, old) ?? []) : [];
}
