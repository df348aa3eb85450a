/** Tables (meta/v1): the columns that kubectl prints, chosen and filled by the server as upstream's printers do. */
import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ListMeta, Table, TableRow } from "@dray/api/meta/v1";
import type { Cell, Column, Printer } from "./column.ts";
import * as core from "./core.ts";
import * as other from "./other.ts";
import { podConditions, pods } from "./pod.ts";
import * as resource from "./resource.ts";
import * as workloads from "./workloads.ts";

export { ageText, durationText } from "./age.ts";
export type { Cell, Column } from "./column.ts";

/** A kind as its columns are looked up by; the version does not matter. */
export interface TableKind {
  readonly group: string;
  readonly kind: string;
}

/** By `Kind.group`. A kind that is not here shows its name and age. */
const printers = new Map<string, Printer<never>>(
  Object.entries<Printer<never>>({
    ConfigMap: core.configMaps,
    Event: core.events,
    LimitRange: other.dated,
    Namespace: core.namespaces,
    Node: core.nodes,
    Pod: pods,
    ResourceQuota: core.resourceQuotas,
    Secret: core.secrets,
    Service: core.services,
    "ValidatingAdmissionPolicy.admissionregistration.k8s.io": other.policies,
    "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": other.policyBindings,
    "CustomResourceDefinition.apiextensions.k8s.io": other.dated,
    "ControllerRevision.apps": workloads.controllerRevisions,
    "DaemonSet.apps": workloads.daemonSets,
    "Deployment.apps": workloads.deployments,
    "ReplicaSet.apps": workloads.replicaSets,
    "StatefulSet.apps": workloads.statefulSets,
    "Scale.autoscaling": workloads.scales,
    "CronJob.batch": workloads.cronJobs,
    "Job.batch": workloads.jobs,
    "Lease.coordination.k8s.io": other.leases,
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
    "PriorityClass.scheduling.k8s.io": other.priorityClasses,
    "CSINode.storage.k8s.io": other.csiNodes,
    "StorageClass.storage.k8s.io": other.storageClasses,
  }),
);

function printerOf({ group, kind }: TableKind): Printer<KubeObject> {
  const printer = printers.get(group === "" ? kind : `${kind}.${group}`) ?? other.plain;
  return printer as Printer<KubeObject>;
}

/** The columns of a kind; those of priority 1 are always sent and shown by `-o wide`. */
export function tableColumns(kind: TableKind): readonly Column[] {
  return printerOf(kind).columns;
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

function rowObject(object: KubeObject, include: IncludeObject, apiVersion: string): unknown {
  if (include === "None") return null;
  if (include === "Object") return object;
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
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
      object: rowObject(object, includeObject, apiVersion),
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
