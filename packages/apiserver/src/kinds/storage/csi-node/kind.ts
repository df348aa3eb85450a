import { CSINode } from "@dray/api/storage/v1";
import { defineServedKind } from "../../define.ts";
import { csiNodeColumns } from "./columns.ts";

export const csiNode = defineServedKind(CSINode, {
  facts: { status: "reset", statusSince: "1.37", answersDeleted: true, needsVersion: true },
  columns: csiNodeColumns,
});
