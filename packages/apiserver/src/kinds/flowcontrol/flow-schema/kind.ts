import { FlowSchema } from "@dray/api/flowcontrol/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { flowSchemaColumns } from "./columns.ts";

export const flowSchema: ServedKind<FlowSchema> = defineServedKind(FlowSchema, {
  facts: { status: "reset", generation: true },
  columns: flowSchemaColumns,
});
