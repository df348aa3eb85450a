import { ClusterRole } from "@dray/api/rbac/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind } from "../../define.ts";

export const clusterRole = defineServedKind(ClusterRole, {
  facts: { createOnUpdate: true },
  columns: dated,
});
