import type { Provenance } from "../../../codec/provenance.ts";
import type { HorizontalPodAutoscaler as OldAutoscaler } from "../../../generated/autoscaling/v1.ts";
import type { HorizontalPodAutoscaler, HPAScalingRules } from "../../../generated/autoscaling/v2.ts";
import type { Wire } from "../../../objects/wire.ts";
import type { DefaultsContext } from "../../define.ts";

/** Default target: CPU utilization in percent of the request. */
const defaultUtilization = 80;

export function defaultAutoscaler(
  { spec }: Wire<HorizontalPodAutoscaler>,
  { provenance }: DefaultsContext,
): void {
  if (!spec) return;
  spec.minReplicas ??= 1;
  if (!spec.metrics?.length) spec.metrics = [defaultMetric()];
  const { behavior } = spec;
  if (!behavior) return;
  behavior.scaleUp = {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ],
    ...set(behavior.scaleUp, provenance),
  };
  // The stabilization window has no default here: the controller decides it.
  behavior.scaleDown = {
    selectPolicy: "Max",
    policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
    ...set(behavior.scaleDown, provenance),
  };
}

/** Of autoscaling/v1, where all metrics but one stand in an annotation. */
export function defaultOldAutoscaler({ metadata, spec }: Wire<OldAutoscaler>): void {
  if (!spec) return;
  spec.minReplicas ??= 1;
  if (!hasMetrics(metadata?.annotations?.["autoscaling.alpha.kubernetes.io/metrics"]))
    spec.targetCPUUtilizationPercentage ??= defaultUtilization;
}

function hasMetrics(annotation: string | null | undefined): boolean {
  if (annotation == null) return false;
  try {
    const metrics: unknown = JSON.parse(annotation);
    return Array.isArray(metrics) && metrics.length > 0;
  } catch {
    return false;
  }
}

function defaultMetric(): NonNullable<NonNullable<HorizontalPodAutoscaler["spec"]>["metrics"]>[number] {
  return {
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization: defaultUtilization } },
  };
}

/** The fields of the rules that are set. An empty list of policies is kept, so that validation rejects it. */
function set(
  rules: Wire<HPAScalingRules> | null | undefined,
  provenance: Provenance | undefined,
): Wire<HPAScalingRules> {
  const given = Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined));
  return provenance?.cameEmpty(rules, "policies") ? { policies: [], ...given } : given;
}
