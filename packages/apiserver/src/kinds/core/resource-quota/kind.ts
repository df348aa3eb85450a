import { ResourceQuota } from "@dray/api/core/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { resourceQuotaColumns } from "./columns.ts";

export const resourceQuota: ServedKind<ResourceQuota> = defineServedKind(ResourceQuota, {
  facts: { status: "keep", answersDeleted: true },
  columns: resourceQuotaColumns,
});
