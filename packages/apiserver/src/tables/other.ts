import { humanDuration, type KubeObject } from "@dray/api";
import type { APIService } from "@dray/api/apiregistration/v1";
import type { CertificateSigningRequest } from "@dray/api/certificates/v1";
import type { Lease } from "@dray/api/coordination/v1";
import type { LeaseCandidate } from "@dray/api/coordination/v1beta1";
import type { ComponentStatus } from "@dray/api/core/v1";
import type { RuntimeClass } from "@dray/api/node/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { ClusterRoleBinding, RoleBinding } from "@dray/api/rbac/v1";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import type { CSINode, StorageClass } from "@dray/api/storage/v1";
import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { ageText } from "./age.ts";
import { column, columns, counts, none, type Printer, wide } from "./column.ts";

/** Kinds that show nothing but a name and an age. */
export const plain: Printer<KubeObject> = {
  columns: columns("Name", "Age"),
  cells: ({ metadata }, now) => [metadata.name, ageText(metadata.creationTimestamp, now)],
};

/** Kinds of which upstream shows the time itself. */
export const dated: Printer<KubeObject> = {
  columns: [column("Name"), column("Created At", { type: "date" })],
  cells: ({ metadata }) => [metadata.name, metadata.creationTimestamp ?? ""],
};

/** Upstream: staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/etcd/etcd.go, ConvertToTable */
export const apiServices: Printer<APIService> = {
  columns: [
    column("Name"),
    { ...column("Service"), description: "Service of the server that has this version, or Local." },
    { ...column("Available"), description: "Whether that server can be reached." },
    column("Age"),
  ],
  cells: ({ metadata, spec, status }, now) => {
    const service = spec?.service;
    const available = status?.conditions?.find(({ type }) => type === "Available");
    const { status: state = "Unknown", reason } = available ?? {};
    return [
      metadata.name,
      service ? `${service.namespace}/${service.name}` : "Local",
      state === "True" || !reason ? state : `${state} (${reason})`,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

export const leases: Printer<Lease> = {
  columns: columns("Name", "Holder", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.holderIdentity ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};

export const leaseCandidates: Printer<LeaseCandidate> = {
  columns: columns("Name", "LeaseName", "BinaryVersion", "EmulationVersion", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.leaseName ?? "",
    spec?.binaryVersion ?? "",
    spec?.emulationVersion ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};

/** The last of these conditions that is true is shown. */
const migrationStates = new Set(["Running", "Failed", "Succeeded"]);

/** Upstream: pkg/printers/internalversion/printers.go, printStorageVersionMigration */
export const storageVersionMigrations: Printer<StorageVersionMigration> = {
  columns: [{ ...column("Name"), format: "" }, ...columns("Resource", "Status")],
  cells: ({ metadata, spec, status }) => {
    const { group = "", resource = "" } = spec?.resource ?? {};
    const current = status?.conditions?.findLast(
      (condition) => condition.status === "True" && migrationStates.has(condition.type),
    );
    return [metadata.name, group === "" ? resource : `${resource}.${group}`, current?.type ?? "Unknown"];
  },
};

export const priorityClasses: Printer<PriorityClass> = {
  columns: [
    column("Name"),
    column("Value", { type: "integer" }),
    column("Global-Default", { type: "boolean" }),
    ...columns("Age", "PreemptionPolicy"),
  ],
  cells: ({ metadata, value, globalDefault, preemptionPolicy }, now) => [
    metadata.name,
    value ?? 0,
    globalDefault ?? false,
    ageText(metadata.creationTimestamp, now),
    preemptionPolicy ?? "",
  ],
};

export const roleBindings: Printer<RoleBinding | ClusterRoleBinding> = {
  columns: [...columns("Name", "Role", "Age"), ...wide("Users", "Groups", "ServiceAccounts")],
  cells({ metadata, roleRef, subjects = [] }, now) {
    const names = (kind: string): string =>
      subjects
        .filter((subject) => subject.kind === kind)
        .map(({ name, namespace }) => (kind === "ServiceAccount" ? `${namespace ?? ""}/${name}` : name))
        .join(", ");
    return [
      metadata.name,
      `${roleRef?.kind ?? ""}/${roleRef?.name ?? ""}`,
      ageText(metadata.creationTimestamp, now),
      names("User"),
      names("Group"),
      names("ServiceAccount"),
    ];
  },
};

export const disruptionBudgets: Printer<PodDisruptionBudget> = {
  columns: [
    ...columns("Name", "Min Available", "Max Unavailable"),
    ...counts("Allowed Disruptions"),
    column("Age"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    String(spec?.minAvailable ?? "N/A"),
    String(spec?.maxUnavailable ?? "N/A"),
    status?.disruptionsAllowed ?? 0,
    ageText(metadata.creationTimestamp, now),
  ],
};

export const runtimeClasses: Printer<RuntimeClass> = {
  columns: columns("Name", "Handler", "Age"),
  cells: ({ metadata, handler }, now) => [
    metadata.name,
    handler ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};

const defaultClass = "storageclass.kubernetes.io/is-default-class";

export const storageClasses: Printer<StorageClass> = {
  columns: columns(
    "Name",
    "Provisioner",
    "ReclaimPolicy",
    "VolumeBindingMode",
    "AllowVolumeExpansion",
    "Age",
  ),
  cells: ({ metadata, provisioner, reclaimPolicy, volumeBindingMode, allowVolumeExpansion }, now) => [
    metadata.annotations?.[defaultClass] === "true" ? `${metadata.name} (default)` : metadata.name,
    provisioner ?? "",
    reclaimPolicy ?? "Delete",
    volumeBindingMode ?? "<unset>",
    allowVolumeExpansion ?? false,
    ageText(metadata.creationTimestamp, now),
  ],
};

export const csiNodes: Printer<CSINode> = {
  columns: [column("Name"), ...counts("Drivers"), column("Age")],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec?.drivers ?? []).length,
    ageText(metadata.creationTimestamp, now),
  ],
};

function signingState({ status }: CertificateSigningRequest): string {
  const has = (wanted: string): boolean => (status?.conditions ?? []).some(({ type }) => type === wanted);
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  return `${decision}${has("Failed") ? ",Failed" : ""}${status?.certificate ? ",Issued" : ""}`;
}

export const signingRequests: Printer<CertificateSigningRequest> = {
  columns: columns("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"),
  cells: (request, now) => [
    request.metadata.name,
    ageText(request.metadata.creationTimestamp, now),
    request.spec?.signerName || none,
    request.spec?.username ?? "",
    request.spec?.expirationSeconds === undefined
      ? none
      : humanDuration(request.spec.expirationSeconds * 1000),
    signingState(request),
  ],
};

/** Each with one condition, `Healthy`. */
export const componentStatuses: Printer<ComponentStatus> = {
  columns: columns("Name", "Status", "Message", "Error"),
  cells({ metadata, conditions }) {
    const healthy = (conditions ?? []).find(({ type }) => type === "Healthy");
    const state = healthy?.status === "True" ? "Healthy" : "Unhealthy";
    return [
      metadata.name,
      healthy === undefined ? "Unknown" : state,
      healthy?.message ?? "",
      healthy?.error ?? "",
    ];
  },
};
