// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/policy/v1.ts";

export type * from "../../schema/generated/policy/v1.ts";

export interface Eviction extends types.Eviction {}
export const Eviction: Kind<Eviction> = {"group":"policy","version":"v1","kind":"Eviction","resource":"evictions","namespaced":true};

/** How many pods of a group may be evicted at once. */
export interface PodDisruptionBudget extends types.PodDisruptionBudget {}
/** How many pods of a group may be evicted at once. */
export const PodDisruptionBudget: Kind<PodDisruptionBudget> = {"group":"policy","version":"v1","kind":"PodDisruptionBudget","resource":"poddisruptionbudgets","namespaced":true};
