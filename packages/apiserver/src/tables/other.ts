import type { KubeObject } from "@dray/api";
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "@dray/api/admissionregistration/v1";
import type { Lease } from "@dray/api/coordination/v1";
import type { RuntimeClass } from "@dray/api/node/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { ClusterRoleBinding, RoleBinding } from "@dray/api/rbac/v1";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import type { CSINode, StorageClass } from "@dray/api/storage/v1";
import { ageText } from "./age.ts";
import { column, columns, counts, type Printer, wide } from "./column.ts";

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

export const leases: Printer<Lease> = {
  columns: columns("Name", "Holder", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.holderIdentity ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
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

export const policies: Printer<ValidatingAdmissionPolicy> = {
  columns: [column("Name"), ...counts("Validations"), ...columns("ParamKind", "Age")],
  cells({ metadata, spec }, now) {
    const kind = spec?.paramKind;
    return [
      metadata.name,
      (spec?.validations ?? []).length,
      kind ? `${kind.apiVersion}/${kind.kind}` : "<unset>",
      ageText(metadata.creationTimestamp, now),
    ];
  },
};

export const policyBindings: Printer<ValidatingAdmissionPolicyBinding> = {
  columns: columns("Name", "PolicyName", "ParamRef", "Age"),
  cells({ metadata, spec }, now) {
    const ref = spec?.paramRef;
    const name = ref?.name ?? "*";
    return [
      metadata.name,
      spec?.policyName ?? "",
      ref ? (ref.namespace ? `${ref.namespace}/${name}` : name) : "<unset>",
      ageText(metadata.creationTimestamp, now),
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
