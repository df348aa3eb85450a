// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { MicroTime, NamespacedMeta } from "../../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface LeaseCandidate {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: LeaseCandidateSpec;
}

export interface LeaseCandidateList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: LeaseCandidate[];
}

export interface LeaseCandidateSpec {
  leaseName: string;
  pingTime?: MicroTime;
  renewTime?: MicroTime;
  binaryVersion: string;
  emulationVersion?: string;
  strategy?: string;
}
