import { ClusterRoleBinding } from "../../../generated/rbac/v1.ts";
import { defineKind } from "../../define.ts";
import { checkBinding, defaultRoleBinding } from "../bindings.ts";

export const clusterRoleBinding = defineKind(ClusterRoleBinding, {
  defaults: defaultRoleBinding,
  validation: checkBinding(false),
});
