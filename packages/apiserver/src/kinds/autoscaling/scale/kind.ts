import { Scale } from "@dray/api/autoscaling/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { scaleColumns } from "./columns.ts";

export const scale: ServedKind<Scale> = defineServedKind(Scale, {
  columns: scaleColumns,
});
