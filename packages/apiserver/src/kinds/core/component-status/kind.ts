import { ComponentStatus } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { componentStatusColumns } from "./columns.ts";

export const componentStatus = defineServedKind(ComponentStatus, {
  facts: { readOnly: true, deprecated: { v1: { since: "1.19" } } },
  columns: componentStatusColumns,
});
