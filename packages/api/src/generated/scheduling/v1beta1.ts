// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/scheduling/v1beta1.ts";

export type * from "../../schema/generated/scheduling/v1beta1.ts";

export interface PodGroup extends types.PodGroup {}
export const PodGroup: Kind<PodGroup> = {"group":"scheduling.k8s.io","version":"v1beta1","kind":"PodGroup","resource":"podgroups","namespaced":true};

/** A priority that pods can have by name. */
export interface PriorityClass extends types.PriorityClass {}
/** A priority that pods can have by name. */
export const PriorityClass: Kind<PriorityClass> = {"group":"scheduling.k8s.io","version":"v1beta1","kind":"PriorityClass","resource":"priorityclasses","namespaced":false};

export interface Workload extends types.Workload {}
export const Workload: Kind<Workload> = {"group":"scheduling.k8s.io","version":"v1beta1","kind":"Workload","resource":"workloads","namespaced":true};
