// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, QuantityText, StoredMeta } from "../../objects/object.ts";
import type { Toleration } from "../core/v1.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Overhead {
  podFixed?: Record<string, QuantityText>;
}

export interface RuntimeClass {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  handler: string;
  overhead?: Overhead;
  scheduling?: Scheduling;
}

export const RuntimeClass: Kind<RuntimeClass> = {"group":"node.k8s.io","version":"v1","kind":"RuntimeClass","resource":"runtimeclasses","namespaced":false};

export interface RuntimeClassList {
  metadata?: ListMeta;
  items: RuntimeClass[];
}

export interface Scheduling {
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
}
