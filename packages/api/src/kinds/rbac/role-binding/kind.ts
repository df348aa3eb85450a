import { RoleBinding } from "../../../generated/rbac/v1.ts";
import { defineKind } from "../../define.ts";
import { checkBinding, defaultRoleBinding } from "../bindings.ts";

export const roleBinding = defineKind(RoleBinding, {
  defaults: defaultRoleBinding,
  validation: checkBinding(true),
});
