// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/flowcontrol/v1.ts";

export type * from "../../schema/generated/flowcontrol/v1.ts";

export interface FlowSchema extends types.FlowSchema {}
export const FlowSchema: Kind<FlowSchema> = {"group":"flowcontrol.apiserver.k8s.io","version":"v1","kind":"FlowSchema","resource":"flowschemas","namespaced":false};

export interface PriorityLevelConfiguration extends types.PriorityLevelConfiguration {}
export const PriorityLevelConfiguration: Kind<PriorityLevelConfiguration> = {"group":"flowcontrol.apiserver.k8s.io","version":"v1","kind":"PriorityLevelConfiguration","resource":"prioritylevelconfigurations","namespaced":false};
