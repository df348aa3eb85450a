import { StatefulSet } from "@dray/api/apps/v1";
import { defineServedKind } from "../../define.ts";
import { statefulSetColumns } from "./columns.ts";

export const statefulSet = defineServedKind(StatefulSet, {
  facts: { status: "keep", scale: true, generation: true },
  columns: statefulSetColumns,
});
