// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, MicroTime, NamespacedMeta } from "../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface LeaseCandidate {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: LeaseCandidateSpec;
}

export const LeaseCandidate: Kind<LeaseCandidate> = {"group":"coordination.k8s.io","version":"v1beta1","kind":"LeaseCandidate","resource":"leasecandidates","namespaced":true};

export interface LeaseCandidateList {
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
