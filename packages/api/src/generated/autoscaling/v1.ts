// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/autoscaling/v1.ts";

export type * from "../../schema/generated/autoscaling/v1.ts";

export interface HorizontalPodAutoscaler extends types.HorizontalPodAutoscaler {}
export const HorizontalPodAutoscaler: Kind<HorizontalPodAutoscaler> = {"group":"autoscaling","version":"v1","kind":"HorizontalPodAutoscaler","resource":"horizontalpodautoscalers","namespaced":true};

export interface Scale extends types.Scale {}
export const Scale: Kind<Scale> = {"group":"autoscaling","version":"v1","kind":"Scale","resource":"scales","namespaced":true};
