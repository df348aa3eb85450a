// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/node/v1.ts";

export type * from "../../schema/generated/node/v1.ts";

export interface RuntimeClass extends types.RuntimeClass {}
export const RuntimeClass: Kind<RuntimeClass> = {"group":"node.k8s.io","version":"v1","kind":"RuntimeClass","resource":"runtimeclasses","namespaced":false};
