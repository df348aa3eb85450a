import { CSIDriver } from "@dray/api/storage/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { csiDriverColumns } from "./columns.ts";

export const csiDriver: ServedKind<CSIDriver> = defineServedKind(CSIDriver, {
  facts: { generation: "changed", answersDeleted: true, needsVersion: true },
  columns: csiDriverColumns,
});
