import { Role } from "../../../generated/rbac/v1.ts";
import { defineKind } from "../../define.ts";
import { checkRole } from "../roles.ts";

export const role = defineKind(Role, {
  validation: checkRole(true),
});
