// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/scheduling/v1alpha2.ts";

export type * from "../../schema/generated/scheduling/v1alpha2.ts";

export interface PodGroup extends types.PodGroup {}
export const PodGroup: Kind<PodGroup> = {"group":"scheduling.k8s.io","version":"v1alpha2","kind":"PodGroup","resource":"podgroups","namespaced":true};

export interface Workload extends types.Workload {}
export const Workload: Kind<Workload> = {"group":"scheduling.k8s.io","version":"v1alpha2","kind":"Workload","resource":"workloads","namespaced":true};
