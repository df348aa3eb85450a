import type { FlowSchemaSpec, PriorityLevelConfigurationSpec } from "@dray/api/flowcontrol/v1";
import { mandatoryFlowControl } from "@dray/api/validation";
import suggested from "./suggested.json" with { type: "json" };

export const group = "flowcontrol.apiserver.k8s.io";
/** Annotation with value `true` if the server keeps the spec of the object up to date. */
export const autoUpdateAnnotation = "apf.kubernetes.io/autoupdate-spec";

/** An object that may have to be created. */
export interface BootstrapObject<Spec> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: Spec;
}

const objectsOf = <Spec>(kind: string, specs: Readonly<Record<string, Spec>>): BootstrapObject<Spec>[] =>
  Object.entries(specs).map(([name, spec]) => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name, annotations: { [autoUpdateAnnotation]: "true" } },
    spec,
  }));

const flowSchemas = (specs: Readonly<Record<string, FlowSchemaSpec>>): BootstrapObject<FlowSchemaSpec>[] =>
  objectsOf("FlowSchema", specs);

const priorityLevels = (
  specs: Readonly<Record<string, PriorityLevelConfigurationSpec>>,
): BootstrapObject<PriorityLevelConfigurationSpec>[] => objectsOf("PriorityLevelConfiguration", specs);

/** The objects of a new server. Upstream: apiserver/pkg/apis/flowcontrol/bootstrap/default.go */
export const mandatorySchemas = flowSchemas(mandatoryFlowControl.flowSchemas);
export const mandatoryLevels = priorityLevels(mandatoryFlowControl.priorityLevelConfigurations);
export const suggestedSchemas = flowSchemas(suggested.flowSchemas);
export const suggestedLevels = priorityLevels(suggested.priorityLevelConfigurations);
