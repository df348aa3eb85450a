// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/apiregistration/v1.ts";

export type * from "../../schema/generated/apiregistration/v1.ts";

/** The server of a version of a group. Its name is VERSION.GROUP. */
export interface APIService extends types.APIService {}
/** The server of a version of a group. Its name is VERSION.GROUP. */
export const APIService: Kind<APIService> = {"group":"apiregistration.k8s.io","version":"v1","kind":"APIService","resource":"apiservices","namespaced":false};
