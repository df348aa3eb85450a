import { PriorityLevelConfiguration } from "@dray/api/flowcontrol/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { priorityLevelColumns } from "./columns.ts";

export const priorityLevelConfiguration: ServedKind<PriorityLevelConfiguration> = defineServedKind(
  PriorityLevelConfiguration,
  {
    facts: { status: "reset", generation: true },
    columns: priorityLevelColumns,
  },
);
