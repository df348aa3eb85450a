import type { FlowSchemaSpec, PriorityLevelConfigurationSpec } from "../../generated/flowcontrol/v1.ts";
import mandatory from "./mandatory.json" with { type: "json" };

/**
 * Specs of the mandatory objects, by name. Every API server has them, and users cannot change them.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go
 */
export const mandatoryFlowControl = mandatory as unknown as {
  readonly flowSchemas: Readonly<Record<string, FlowSchemaSpec>>;
  readonly priorityLevelConfigurations: Readonly<Record<string, PriorityLevelConfigurationSpec>>;
};
