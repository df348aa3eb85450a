import { ResourcePoolStatusRequest } from "@dray/api/resource/v1alpha3";
import { defineServedKind } from "../../define.ts";
import { resourcePoolStatusRequestColumns } from "./columns.ts";

export const resourcePoolStatusRequest = defineServedKind(ResourcePoolStatusRequest, {
  facts: { status: "reset", answersDeleted: true, needsVersion: true },
  columns: resourcePoolStatusRequestColumns,
});
