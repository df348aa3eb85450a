// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, StoredMeta } from "../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface PriorityClass {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  value?: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: string;
}

export const PriorityClass: Kind<PriorityClass> = {"group":"scheduling.k8s.io","version":"v1","kind":"PriorityClass","resource":"priorityclasses","namespaced":false};

export interface PriorityClassList {
  metadata?: ListMeta;
  items: PriorityClass[];
}
