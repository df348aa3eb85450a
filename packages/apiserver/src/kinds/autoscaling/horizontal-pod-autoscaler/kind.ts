import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { horizontalPodAutoscalerColumns } from "./columns.ts";
import { convertAutoscaler } from "./conversion.ts";

export const horizontalPodAutoscaler: ServedKind<HorizontalPodAutoscaler> = defineServedKind(
  HorizontalPodAutoscaler,
  {
    facts: { status: "keep", generationSince: "1.37" },
    columns: horizontalPodAutoscalerColumns,
    convert: convertAutoscaler,
  },
);
