import { ControllerRevision } from "@dray/api/apps/v1";
import { defineServedKind } from "../../define.ts";
import { controllerRevisionColumns } from "./columns.ts";

export const controllerRevision = defineServedKind(ControllerRevision, {
  facts: {},
  columns: controllerRevisionColumns,
});
