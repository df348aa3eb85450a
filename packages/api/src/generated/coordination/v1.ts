// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/coordination/v1.ts";

export type * from "../../schema/generated/coordination/v1.ts";

export interface Lease extends types.Lease {}
export const Lease: Kind<Lease> = {"group":"coordination.k8s.io","version":"v1","kind":"Lease","resource":"leases","namespaced":true};
