// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { MicroTime, NamespacedMeta } from "../../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Lease {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: LeaseSpec;
}

export interface LeaseList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: Lease[];
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: MicroTime;
  renewTime?: MicroTime;
  leaseTransitions?: number;
  strategy?: string;
  preferredHolder?: string;
}
