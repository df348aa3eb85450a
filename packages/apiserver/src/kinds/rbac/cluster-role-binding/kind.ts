import { ClusterRoleBinding } from "@dray/api/rbac/v1";
import { defineServedKind } from "../../define.ts";
import { bindingColumns } from "../columns.ts";

export const clusterRoleBinding = defineServedKind(ClusterRoleBinding, {
  facts: { createOnUpdate: true },
  columns: bindingColumns,
});
