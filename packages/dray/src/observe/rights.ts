import { kindOf } from "@dray/api/codec";
import type { MissingRight } from "../manifests/live.ts";

/** A listed kind. */
export interface Right {
  readonly verb: "list";
  /** `pods`, `resourceslices.resource.k8s.io` */
  readonly resource: string;
}

/** A missing permission, and the facts that are unknown without it. */
export interface LackingRight extends Right {
  /** The only readable namespace. */
  readonly only: string | null;
  readonly without: string;
}

/** The required permissions, and the missing ones. */
export interface Rights {
  readonly sufficient: readonly Right[];
  readonly missing: readonly LackingRight[];
}

const groups: Readonly<Record<string, string>> = {
  Event: "",
  Namespace: "",
  Node: "",
  Pod: "",
  Service: "",
  EndpointSlice: "discovery.k8s.io",
  ClusterRole: "rbac.authorization.k8s.io",
  ClusterRoleBinding: "rbac.authorization.k8s.io",
  MutatingWebhookConfiguration: "admissionregistration.k8s.io",
  ValidatingWebhookConfiguration: "admissionregistration.k8s.io",
  CustomResourceDefinition: "apiextensions.k8s.io",
  ResourceQuota: "",
  PersistentVolume: "",
  PersistentVolumeClaim: "",
  CSIDriver: "storage.k8s.io",
  CSINode: "storage.k8s.io",
  CSIStorageCapacity: "storage.k8s.io",
  StorageClass: "storage.k8s.io",
  VolumeAttachment: "storage.k8s.io",
  DaemonSet: "apps",
  Deployment: "apps",
  ReplicaSet: "apps",
  StatefulSet: "apps",
  Job: "batch",
  PodGroup: "scheduling.k8s.io",
  PriorityClass: "scheduling.k8s.io",
};

const volumesUnknown = "which nodes the volumes of the pod allow is not known";
const rolesUnknown = "which rights drivers have is not known";
const servicesUnknown = "whether Services have endpoints is not known";
const webhooksUnknown = "whether webhooks can be reached is not known";
const workloadsUnknown = "which pods belong to the workload is not known";

/** Facts that are unknown without the list of a kind. */
const consequences: Readonly<Record<string, string>> = {
  DeviceClass: "which devices classes choose is not known",
  DeviceTaintRule: "taints that rules set are not known",
  Event: "what kubelets and controllers report is not known",
  Namespace: "labels of namespaces are not known",
  Node: "where devices and pods could go is not known",
  Pod: "what pods take, and their health of devices, is not known",
  PodGroup: "whether a group waits is not known",
  PriorityClass: "pods that name one count with priority 0",
  ResourceClaim: "who has which devices is not known: all may seem to be free",
  ResourceClaimTemplate: "which claims templates make is not known",
  ResourceQuota: "whether a quota is used up is not known",
  ResourceSlice: "no device is known",
  Service: servicesUnknown,
  EndpointSlice: servicesUnknown,
  ClusterRole: rolesUnknown,
  ClusterRoleBinding: rolesUnknown,
  MutatingWebhookConfiguration: webhooksUnknown,
  ValidatingWebhookConfiguration: webhooksUnknown,
  CustomResourceDefinition: webhooksUnknown,
  PersistentVolume: volumesUnknown,
  PersistentVolumeClaim: volumesUnknown,
  CSIDriver: volumesUnknown,
  CSINode: volumesUnknown,
  CSIStorageCapacity: volumesUnknown,
  StorageClass: volumesUnknown,
  VolumeAttachment: volumesUnknown,
  DaemonSet: workloadsUnknown,
  Deployment: workloadsUnknown,
  ReplicaSet: workloadsUnknown,
  StatefulSet: workloadsUnknown,
  Job: workloadsUnknown,
};

/** Returns group and resource in the form of `kubectl create clusterrole`. */
export function resourceOf(kind: string): string {
  const group = groups[kind] ?? "resource.k8s.io";
  const row = kindOf(group, "v1", kind) ?? kindOf(group, "v1beta1", kind);
  if (row === undefined) throw new Error(`the API has no ${kind} in group "${group}"`);
  return group === "" ? row.resource : `${row.resource}.${group}`;
}

export function rightsOf(kinds: Iterable<string>, missing: readonly MissingRight[]): Rights {
  return {
    sufficient: [...kinds].map((kind) => ({ verb: "list", resource: resourceOf(kind) })),
    missing: missing.map(({ verb, resource, kind, only }) => ({
      verb,
      resource,
      only: only ?? null,
      without: consequences[kind] ?? "the answer may lack something",
    })),
  };
}

/** Returns the commands with which an administrator grants the permissions. */
export function grantText(command: string, { sufficient }: Rights): string {
  const resources = sufficient.map(({ resource }) => resource).join(",");
  return [
    `kubectl create clusterrole dray-${command} --verb=list --resource=${resources}`,
    `kubectl create clusterrolebinding dray-${command} --clusterrole=dray-${command} --user=YOU`,
    "",
  ].join("\n");
}

/** Returns a line for each missing permission. */
export function missingRightLines(source: string, { missing }: Rights): string[] {
  return missing.map(
    ({ verb, resource, only, without }) =>
      `${source}: no right to ${verb} ${resource}${only === null ? "" : ` in all namespaces (only in ${only})`}: ${without}`,
  );
}
