// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/metrics/v1beta1.ts";

export type * from "../../schema/generated/metrics/v1beta1.ts";

/** What a node uses. */
export type NodeMetrics = types.NodeMetrics;
/** What a node uses. */
export const NodeMetrics: Kind<NodeMetrics> = {"group":"metrics.k8s.io","version":"v1beta1","kind":"NodeMetrics","resource":"nodes","namespaced":false};

/** What the containers of a pod use. */
export type PodMetrics = types.PodMetrics;
/** What the containers of a pod use. */
export const PodMetrics: Kind<PodMetrics> = {"group":"metrics.k8s.io","version":"v1beta1","kind":"PodMetrics","resource":"pods","namespaced":true};
