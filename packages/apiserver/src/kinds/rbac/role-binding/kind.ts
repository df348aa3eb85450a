import { RoleBinding } from "@dray/api/rbac/v1";
import { defineServedKind } from "../../define.ts";
import { bindingColumns } from "../columns.ts";

export const roleBinding = defineServedKind(RoleBinding, {
  facts: { createOnUpdate: true },
  columns: bindingColumns,
});
