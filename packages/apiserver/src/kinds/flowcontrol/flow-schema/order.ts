import type { FlowSchemaSpec, PriorityLevelConfigurationSpec } from "@dray/api/flowcontrol/v1";

/** A FlowSchema or priority level, stored or mandatory; a mandatory one that is not stored has no UID. */
interface Source<Spec> {
  readonly metadata: { readonly name: string; readonly uid?: string };
  readonly spec: Spec;
}

export type FlowSchemaSource = Source<FlowSchemaSpec>;
export type PriorityLevelSource = Source<PriorityLevelConfigurationSpec>;

/**
 * The order in which FlowSchemas are matched: by precedence, then by name.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/util/apihelpers/helpers.go, FlowSchemaSequence
 */
export function compareFlowSchemas(left: FlowSchemaSource, right: FlowSchemaSource): number {
  const difference = precedenceOf(left) - precedenceOf(right);
  if (difference !== 0) return difference;
  const [a, b] = [left.metadata.name, right.metadata.name];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A patch that will be rejected may leave a FlowSchema without a spec. */
const precedenceOf = ({ spec }: FlowSchemaSource): number => spec?.matchingPrecedence ?? 0;
