// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/metrics/v1beta1.ts";

export type * from "../../schema/generated/metrics/v1beta1.ts";

/** Resource usage of a node. */
export interface NodeMetrics extends types.NodeMetrics {}
/** Resource usage of a node. */
export const NodeMetrics: Kind<NodeMetrics> = {"group":"metrics.k8s.io","version":"v1beta1","kind":"NodeMetrics","resource":"nodes","namespaced":false};

/** Resource usage of the containers of a pod. */
export interface PodMetrics extends types.PodMetrics {}
/** Resource usage of the containers of a pod. */
export const PodMetrics: Kind<PodMetrics> = {"group":"metrics.k8s.io","version":"v1beta1","kind":"PodMetrics","resource":"pods","namespaced":true};
