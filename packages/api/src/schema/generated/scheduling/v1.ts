// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { StoredMeta } from "../../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

/** A priority that pods can have by name. */
export interface PriorityClass {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** The priority; higher is scheduled first. At most 1000000000. Cannot change. */
  value?: number;
  /** True: pods without a class have it. */
  globalDefault?: boolean;
  /** Its use. */
  description?: string;
  /** PreemptLowerPriority (default) or Never: whether its pods may evict pods of lower priority. */
  preemptionPolicy?: string;
}

export interface PriorityClassList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PriorityClass[];
}
