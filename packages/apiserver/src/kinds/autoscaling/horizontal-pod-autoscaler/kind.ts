import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { defineServedKind } from "../../define.ts";
import { horizontalPodAutoscalerColumns } from "./columns.ts";
import { convertAutoscaler } from "./conversion.ts";

export const horizontalPodAutoscaler = defineServedKind(HorizontalPodAutoscaler, {
  facts: { status: "keep", generationSince: "1.37" },
  columns: horizontalPodAutoscalerColumns,
  convert: convertAutoscaler,
});
