// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/scheduling/v1.ts";

export type * from "../../schema/generated/scheduling/v1.ts";

/** A priority that pods can have by name. */
export interface PriorityClass extends types.PriorityClass {}
/** A priority that pods can have by name. */
export const PriorityClass: Kind<PriorityClass> = {"group":"scheduling.k8s.io","version":"v1","kind":"PriorityClass","resource":"priorityclasses","namespaced":false};
