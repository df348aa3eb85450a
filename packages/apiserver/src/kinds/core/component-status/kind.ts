import { ComponentStatus } from "@dray/api/core/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { componentStatusColumns } from "./columns.ts";

export const componentStatus: ServedKind<ComponentStatus> = defineServedKind(ComponentStatus, {
  facts: { readOnly: true, deprecated: { v1: { since: "1.19" } } },
  columns: componentStatusColumns,
});
