import { ControllerRevision } from "@dray/api/apps/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { controllerRevisionColumns } from "./columns.ts";

export const controllerRevision: ServedKind<ControllerRevision> = defineServedKind(ControllerRevision, {
  facts: {},
  columns: controllerRevisionColumns,
});
