import type { ClusterRoleBinding, RoleBinding } from "@dray/api/rbac/v1";
import { ageText } from "../../tables/age.ts";
import { columns, type Printer, wide } from "../../tables/column.ts";

export const bindingColumns: Printer<RoleBinding | ClusterRoleBinding> = {
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
