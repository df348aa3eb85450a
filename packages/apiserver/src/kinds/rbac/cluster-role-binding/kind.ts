import { ClusterRoleBinding } from "@dray/api/rbac/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { bindingColumns } from "../columns.ts";

export const clusterRoleBinding: ServedKind<ClusterRoleBinding> = defineServedKind(ClusterRoleBinding, {
  facts: { createOnUpdate: true },
  columns: bindingColumns,
});
