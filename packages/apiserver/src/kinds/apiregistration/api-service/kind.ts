import { APIService } from "@dray/api/apiregistration/v1";
import { defineServedKind } from "../../define.ts";
import { apiServiceColumns } from "./columns.ts";
import { apiServiceStrategy } from "./strategy.ts";

export const apiService = defineServedKind(APIService, {
  facts: { status: "reset", needsVersion: true },
  strategy: apiServiceStrategy,
  columns: apiServiceColumns,
});
