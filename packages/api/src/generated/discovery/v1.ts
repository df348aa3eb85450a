// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/discovery/v1.ts";

export type * from "../../schema/generated/discovery/v1.ts";

export interface EndpointSlice extends types.EndpointSlice {}
export const EndpointSlice: Kind<EndpointSlice> = {"group":"discovery.k8s.io","version":"v1","kind":"EndpointSlice","resource":"endpointslices","namespaced":true};
