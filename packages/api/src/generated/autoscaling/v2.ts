// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/autoscaling/v2.ts";

export type * from "../../schema/generated/autoscaling/v2.ts";

export interface HorizontalPodAutoscaler extends types.HorizontalPodAutoscaler {}
export const HorizontalPodAutoscaler: Kind<HorizontalPodAutoscaler> = {"group":"autoscaling","version":"v2","kind":"HorizontalPodAutoscaler","resource":"horizontalpodautoscalers","namespaced":true};
