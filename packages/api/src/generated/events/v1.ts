// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/events/v1.ts";

export type * from "../../schema/generated/events/v1.ts";

export interface Event extends types.Event {}
export const Event: Kind<Event> = {"group":"events.k8s.io","version":"v1","kind":"Event","resource":"events","namespaced":true};
