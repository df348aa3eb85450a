import { RoleBinding } from "@dray/api/rbac/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { bindingColumns } from "../columns.ts";

export const roleBinding: ServedKind<RoleBinding> = defineServedKind(RoleBinding, {
  facts: { createOnUpdate: true },
  columns: bindingColumns,
});
