/** Tables (meta/v1): the columns that kubectl prints, chosen and filled by the server as upstream's printers do. */
import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ListMeta, ObjectMeta, Table, TableRow } from "@dray/api/meta/v1";
import * as admission from "./admission.ts";
import { autoscalers } from "./autoscaling.ts";
import type { Cell, Column, Printer } from "./column.ts";
import * as core from "./core.ts";
import * as flowcontrol from "./flowcontrol.ts";
import * as groups from "./groups.ts";
import { nodeMetrics, podMetrics } from "./metrics.ts";
import * as networking from "./networking.ts";
import * as other from "./other.ts";
import { podConditions, pods } from "./pod.ts";
import * as resource from "./resource.ts";
import * as storage from "./storage.ts";
import * as workloads from "./workloads.ts";

export { ageText } from "./age.ts";
export type { Cell, Column } from "./column.ts";

/** A kind as its columns are looked up by; the version does not matter. */
export interface TableKind {
  readonly group: string;
  readonly kind: string;
  /** A kind that brings its columns along. */
  readonly model?: { readonly printer: Printer<KubeObject> };
}

/** By `Kind.group`. A kind that is not here shows its name and age. */
const printers = new Map<string, Printer<never>>(
  Object.entries<Printer<never>>({
    ComponentStatus: other.componentStatuses,
    ConfigMap: core.configMaps,
    Endpoints: networking.endpoints,
    Event: core.events,
    LimitRange: other.dated,
    Namespace: core.namespaces,
    Node: core.nodes,
    PersistentVolume: storage.volumes,
    PersistentVolumeClaim: storage.claims,
    Pod: pods,
    PodTemplate: workloads.podTemplates,
    ReplicationController: workloads.replicationControllers,
    ResourceQuota: core.resourceQuotas,
    Secret: core.secrets,
    Service: core.services,
    "MutatingAdmissionPolicy.admissionregistration.k8s.io": admission.mutatingPolicies,
    "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io": admission.policyBindings,
    "MutatingWebhookConfiguration.admissionregistration.k8s.io": admission.webhooks,
    "ValidatingAdmissionPolicy.admissionregistration.k8s.io": admission.validatingPolicies,
    "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": admission.policyBindings,
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io": admission.webhooks,
    "CustomResourceDefinition.apiextensions.k8s.io": other.dated,
    "APIService.apiregistration.k8s.io": other.apiServices,
    "ControllerRevision.apps": workloads.controllerRevisions,
    "DaemonSet.apps": workloads.daemonSets,
    "Deployment.apps": workloads.deployments,
    "ReplicaSet.apps": workloads.replicaSets,
    "StatefulSet.apps": workloads.statefulSets,
    "Scale.autoscaling": workloads.scales,
    "HorizontalPodAutoscaler.autoscaling": autoscalers,
    "CronJob.batch": workloads.cronJobs,
    "Job.batch": workloads.jobs,
    "CertificateSigningRequest.certificates.k8s.io": other.signingRequests,
    "Lease.coordination.k8s.io": other.leases,
    "LeaseCandidate.coordination.k8s.io": other.leaseCandidates,
    "EndpointSlice.discovery.k8s.io": networking.endpointSlices,
    "FlowSchema.flowcontrol.apiserver.k8s.io": flowcontrol.flowSchemas,
    "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io": flowcontrol.priorityLevels,
    "Ingress.networking.k8s.io": networking.ingresses,
    "NodeMetrics.metrics.k8s.io": nodeMetrics,
    "PodMetrics.metrics.k8s.io": podMetrics,
    "IngressClass.networking.k8s.io": networking.ingressClasses,
    "IPAddress.networking.k8s.io": networking.ipAddresses,
    "NetworkPolicy.networking.k8s.io": networking.networkPolicies,
    "ServiceCIDR.networking.k8s.io": networking.serviceCIDRs,
    "RuntimeClass.node.k8s.io": other.runtimeClasses,
    "PodDisruptionBudget.policy": other.disruptionBudgets,
    "ClusterRole.rbac.authorization.k8s.io": other.dated,
    "ClusterRoleBinding.rbac.authorization.k8s.io": other.roleBindings,
    "Role.rbac.authorization.k8s.io": other.dated,
    "RoleBinding.rbac.authorization.k8s.io": other.roleBindings,
    "DeviceTaintRule.resource.k8s.io": resource.rules,
    "ResourceClaim.resource.k8s.io": resource.claims,
    "ResourcePoolStatusRequest.resource.k8s.io": resource.poolRequests,
    "ResourceSlice.resource.k8s.io": resource.slices,
    "CompositePodGroup.scheduling.k8s.io": groups.compositePodGroups,
    "PodGroup.scheduling.k8s.io": groups.podGroups,
    "PriorityClass.scheduling.k8s.io": other.priorityClasses,
    "CSIDriver.storage.k8s.io": storage.csiDrivers,
    "CSINode.storage.k8s.io": other.csiNodes,
    "CSIStorageCapacity.storage.k8s.io": other.dated,
    "StorageClass.storage.k8s.io": other.storageClasses,
    "StorageVersionMigration.storagemigration.k8s.io": other.storageVersionMigrations,
    "VolumeAttachment.storage.k8s.io": storage.attachments,
    "VolumeAttributesClass.storage.k8s.io": storage.attributesClasses,
  }),
);

/** How a kind is printed. */
export function printerOf({ group, kind, model }: TableKind): Printer<KubeObject> {
  if (model !== undefined) return model.printer;
  const printer = printers.get(group === "" ? kind : `${kind}.${group}`) ?? other.plain;
  return printer as Printer<KubeObject>;
}

/** Metadata of an object as rows and PartialObjectMetadata carry it. */
export function shownMetadata(printer: Printer<KubeObject>, object: KubeObject): ObjectMeta {
  return printer.metadata?.(object) ?? object.metadata;
}

/** The columns of a kind; those of priority 1 are always sent and shown by `-o wide`. */
export function tableColumns(kind: TableKind): readonly Column[] {
  return printerOf(kind).columns;
}

/** The objects of a list in the order in which a table shows them. */
export function inRowOrder<T extends KubeObject>(kind: TableKind, objects: readonly T[]): readonly T[] {
  const { order } = printerOf(kind);
  return order === undefined ? objects : objects.toSorted(order);
}

/** The cells of one object, one for each column; `now` in milliseconds since the epoch, for ages. */
export function rowCells(kind: TableKind, object: KubeObject, now: number): Cell[] {
  return printerOf(kind).cells(object, now);
}

/** How much of its object a row carries. */
export type IncludeObject = "Metadata" | "Object" | "None";

export interface TableRequest {
  readonly kind: TableKind;
  readonly objects: readonly KubeObject[];
  /** Metadata of the list, or `{resourceVersion}` of the one object. */
  readonly listMeta: ListMeta;
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True for the events of a watch after the first, which carry no columns. */
  readonly omitColumns?: boolean;
  /** The version of the Table that the client asked for: `v1` if absent. */
  readonly version?: "v1" | "v1beta1";
}

function rowObject(
  object: KubeObject,
  printer: Printer<KubeObject>,
  include: IncludeObject,
  apiVersion: string,
): unknown {
  if (include === "None") return null;
  if (include === "Object") return object;
  return { kind: "PartialObjectMetadata", apiVersion, metadata: shownMetadata(printer, object) };
}

/** Objects as a Table; `null` columns where they are omitted, as upstream writes it. */
export function makeTable(request: TableRequest): Table & { kind: "Table"; apiVersion: string } {
  const { kind, objects, listMeta, includeObject, now, omitColumns = false, version = "v1" } = request;
  const apiVersion = `meta.k8s.io/${version}`;
  const printer = printerOf(kind);
  const isPod = kind.group === "" && kind.kind === "Pod";
  const rows = objects.map((object): TableRow => {
    const conditions = isPod ? podConditions(object as Pod) : [];
    return {
      cells: printer.cells(object, now),
      ...(conditions.length > 0 ? { conditions } : {}),
      object: rowObject(object, printer, includeObject, apiVersion),
    };
  });
  return {
    kind: "Table",
    apiVersion,
    metadata: listMeta,
    columnDefinitions: omitColumns ? (null as unknown as []) : [...printer.columns],
    rows,
  };
}
