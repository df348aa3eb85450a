import { FlowSchema } from "@dray/api/flowcontrol/v1";
import { defineServedKind } from "../../define.ts";
import { flowSchemaColumns } from "./columns.ts";

export const flowSchema = defineServedKind(FlowSchema, {
  facts: { status: "reset", generation: true },
  columns: flowSchemaColumns,
});
