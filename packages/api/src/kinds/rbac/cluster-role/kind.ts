import { ClusterRole } from "../../../generated/rbac/v1.ts";
import { defineKind } from "../../define.ts";
import { checkRole } from "../roles.ts";

export const clusterRole = defineKind(ClusterRole, {
  validation: checkRole(false),
});
