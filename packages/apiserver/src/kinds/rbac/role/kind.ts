import { Role } from "@dray/api/rbac/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind } from "../../define.ts";

export const role = defineServedKind(Role, {
  facts: { createOnUpdate: true },
  columns: dated,
});
