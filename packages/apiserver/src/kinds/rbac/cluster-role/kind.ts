import { ClusterRole } from "@dray/api/rbac/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const clusterRole: ServedKind<ClusterRole> = defineServedKind(ClusterRole, {
  facts: { createOnUpdate: true },
  columns: dated,
});
