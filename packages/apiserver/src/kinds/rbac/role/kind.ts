import { Role } from "@dray/api/rbac/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const role: ServedKind<Role> = defineServedKind(Role, {
  facts: { createOnUpdate: true },
  columns: dated,
});
