import { ResourceQuota } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { resourceQuotaColumns } from "./columns.ts";

export const resourceQuota = defineServedKind(ResourceQuota, {
  facts: { status: "keep", answersDeleted: true },
  columns: resourceQuotaColumns,
});
