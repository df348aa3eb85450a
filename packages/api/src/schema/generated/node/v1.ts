// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { QuantityText, StoredMeta } from "../../../objects/object.ts";
import type { Toleration } from "../core/v1.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Overhead {
  podFixed?: Record<string, QuantityText>;
}

export interface RuntimeClass {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  handler: string;
  overhead?: Overhead;
  scheduling?: Scheduling;
}

export interface RuntimeClassList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: RuntimeClass[];
}

export interface Scheduling {
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
}
