import { Scale } from "@dray/api/autoscaling/v1";
import { defineServedKind } from "../../define.ts";
import { scaleColumns } from "./columns.ts";

export const scale = defineServedKind(Scale, {
  columns: scaleColumns,
});
