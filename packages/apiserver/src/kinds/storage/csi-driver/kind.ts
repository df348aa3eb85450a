import { CSIDriver } from "@dray/api/storage/v1";
import { defineServedKind } from "../../define.ts";
import { csiDriverColumns } from "./columns.ts";

export const csiDriver = defineServedKind(CSIDriver, {
  facts: { generation: "changed", answersDeleted: true, needsVersion: true },
  columns: csiDriverColumns,
});
