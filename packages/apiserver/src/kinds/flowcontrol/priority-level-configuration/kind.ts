import { PriorityLevelConfiguration } from "@dray/api/flowcontrol/v1";
import { defineServedKind } from "../../define.ts";
import { priorityLevelColumns } from "./columns.ts";

export const priorityLevelConfiguration = defineServedKind(PriorityLevelConfiguration, {
  facts: { status: "reset", generation: true },
  columns: priorityLevelColumns,
});
