// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/coordination/v1beta1.ts";

export type * from "../../schema/generated/coordination/v1beta1.ts";

export interface LeaseCandidate extends types.LeaseCandidate {}
export const LeaseCandidate: Kind<LeaseCandidate> = {"group":"coordination.k8s.io","version":"v1beta1","kind":"LeaseCandidate","resource":"leasecandidates","namespaced":true};
