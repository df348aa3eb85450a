// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, MicroTime, NamespacedMeta } from "../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface Lease {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: LeaseSpec;
}

export const Lease: Kind<Lease> = {"group":"coordination.k8s.io","version":"v1","kind":"Lease","resource":"leases","namespaced":true};

export interface LeaseList {
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
