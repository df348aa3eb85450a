import { CSINode } from "@dray/api/storage/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { csiNodeColumns } from "./columns.ts";

export const csiNode: ServedKind<CSINode> = defineServedKind(CSINode, {
  facts: { status: "reset", statusSince: "1.37", answersDeleted: true, needsVersion: true },
  columns: csiNodeColumns,
});
