/** HorizontalPodAutoscaler, in the form of autoscaling/v2 whatever version it was written in. */

import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type {
  ContainerResourceMetricSource,
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingPolicy,
  HPAScalingRules,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
  ResourceMetricSource,
} from "../../../generated/autoscaling/v2.ts";
import { dnsLabel, pathSegment, qualifiedName } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";

/** Rule for the `apiVersion` of a reference; `any` accepts every value, for one that is stored already. */
type VersionRule = "withGroup" | "withOrWithoutGroup" | "any";

const metricTypes = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/** In the order in which upstream checks them. */
const sources = ["object", "external", "pods", "resource", "containerResource"] as const;
const maxPeriod = 1800;
const maxWindow = 3600;

function versionProblem(
  { apiVersion = "" }: CrossVersionObjectReference,
  rule: VersionRule,
): string | undefined {
  if (rule === "any") return undefined;
  if (apiVersion.split("/").length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const grouped = apiVersion.includes("/") && !apiVersion.startsWith("/");
  return grouped || rule === "withOrWithoutGroup" ? undefined : "apiVersion must specify API group";
}

function checkReference(
  errors: FieldErrors,
  path: string,
  reference: CrossVersionObjectReference,
  rule: VersionRule,
): void {
  errors.checkRequired(pathSegment, `${path}.kind`, reference.kind);
  errors.checkRequired(pathSegment, `${path}.name`, reference.name);
  const problem = versionProblem(reference, rule);
  if (problem !== undefined) errors.invalid(`${path}.apiVersion`, reference.apiVersion ?? "", problem);
}

function checkIdentifier(errors: FieldErrors, path: string, { name }: MetricIdentifier): void {
  if (!name) errors.required(`${path}.name`, "must specify a metric name");
  else errors.check(pathSegment, `${path}.name`, name);
}

function checkPositive(errors: FieldErrors, path: string, value: string | undefined): void {
  if (value === undefined || value === null) return;
  const quantity = Quantity.parse(value);
  if (quantity.sign !== 1) errors.invalid(path, quantity.toString(), "must be positive");
}

function checkTarget(errors: FieldErrors, path: string, target: MetricTarget): void {
  const { type = "", value, averageValue, averageUtilization } = target;
  if (type === "") errors.required(`${path}.type`, "must specify a metric target type");
  if (!["Utilization", "Value", "AverageValue"].includes(type))
    errors.invalid(`${path}.type`, type, "must be either Utilization, Value, or AverageValue");
  checkPositive(errors, `${path}.value`, value);
  checkPositive(errors, `${path}.averageValue`, averageValue);
  if (isSet(averageUtilization) && averageUtilization < 1)
    errors.invalid(`${path}.averageUtilization`, averageUtilization, "must be greater than 0");
}

/** Of resources a target is a quantity or a share of what is requested. */
function checkShareOrValue(errors: FieldErrors, path: string, target: MetricTarget): void {
  checkTarget(errors, path, target);
  const { averageUtilization, averageValue } = target;
  if (!isSet(averageUtilization) && !isSet(averageValue)) {
    const detail = "must set either a target raw value or a target utilization";
    errors.required(`${path}.averageUtilization`, detail);
  }
  if (isSet(averageUtilization) && isSet(averageValue))
    errors.forbidden(`${path}.averageValue`, "may not set both a target raw value and a target utilization");
}

function checkResource(errors: FieldErrors, path: string, source: ResourceMetricSource): void {
  if (!source.name) errors.required(`${path}.name`, "must specify a resource name");
  checkShareOrValue(errors, `${path}.target`, source.target);
}

/** Accepts a standard resource, one of Kubernetes' own domain, or an extended resource. */
function checkResourceName(errors: FieldErrors, path: string, name: string): void {
  errors.check(qualifiedName, path, name);
  const isStandard = ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
  if (!name.includes("/") && !isStandard) {
    errors.invalid(path, name, "must be a standard resource type or fully qualified");
    errors.invalid(path, name, "must be a standard resource for containers");
  }
  if (!name.includes("/") || name.includes("kubernetes.io/")) return;
  if (name.startsWith("requests.") || qualifiedName(`requests.${name}`).length > 0)
    errors.invalid(path, name, "doesn't follow extended resource name standard");
}

function checkContainerResource(
  errors: FieldErrors,
  path: string,
  source: ContainerResourceMetricSource,
): void {
  const { name, container } = source;
  if (!name) errors.required(`${path}.name`, "must specify a resource name");
  else checkResourceName(errors, `${path}.name`, name);
  if (!container) errors.required(`${path}.container`, "must specify a container");
  else errors.check(dnsLabel, `${path}.container`, container);
  checkShareOrValue(errors, `${path}.target`, source.target);
}

const checkSource: {
  readonly [Name in (typeof sources)[number]]: (
    errors: FieldErrors,
    path: string,
    source: NonNullable<MetricSpec[Name]>,
    rule: VersionRule,
  ) => void;
} = {
  object(errors, path, { describedObject, metric, target }, rule) {
    checkReference(errors, `${path}.describedObject`, describedObject, rule);
    checkIdentifier(errors, `${path}.metric`, metric);
    checkTarget(errors, `${path}.target`, target);
    if (!isSet(target.value) && !isSet(target.averageValue))
      errors.required(`${path}.target.averageValue`, "must set either a target value or averageValue");
  },
  external(errors, path, { metric, target }) {
    checkIdentifier(errors, `${path}.metric`, metric);
    checkTarget(errors, `${path}.target`, target);
    const [whole, each] = [isSet(target.value), isSet(target.averageValue)];
    if (!whole && !each) {
      const detail = "must set either a target value for metric or a per-pod target";
      errors.required(`${path}.target.averageValue`, detail);
    }
    if (whole && each) {
      const detail = "may not set both a target value for metric and a per-pod target";
      errors.forbidden(`${path}.target.value`, detail);
    }
  },
  pods(errors, path, { metric, target }) {
    checkIdentifier(errors, `${path}.metric`, metric);
    checkTarget(errors, `${path}.target`, target);
    if (!isSet(target.averageValue))
      errors.required(`${path}.target.averageValue`, "must specify a positive target averageValue");
  },
  resource: checkResource,
  containerResource: checkContainerResource,
};

function checkMetric(errors: FieldErrors, path: string, metric: MetricSpec, rule: VersionRule): void {
  const type: string = metric.type ?? "";
  const isKnown = metricTypes.includes(type);
  if (type === "") errors.required(`${path}.type`, "must specify a metric source type");
  if (!isKnown) errors.notSupported(`${path}.type`, type, metricTypes);
  const present = sources.filter((name) => isSet(metric[name]));
  // The first source that is set is validated, whatever the type.
  const first = present[0];
  if (first !== undefined) checkSource[first](errors, `${path}.${first}`, metric[first] as never, rule);
  const expected = isKnown ? `${type.slice(0, 1).toLowerCase()}${type.slice(1)}` : undefined;
  if (expected === undefined) errors.notSupported(`${path}.type`, type, metricTypes);
  else if (!present.some((name) => name === expected))
    errors.required(`${path}.${expected}`, "must populate information for the given metric source");
  if (present.length === 1) return;
  for (const name of present)
    if (name !== expected) errors.forbidden(`${path}.${name}`, "must populate the given metric source only");
}

function checkPolicy(errors: FieldErrors, path: string, policy: HPAScalingPolicy): void {
  const { type = "", value = 0, periodSeconds = 0 } = policy;
  if (type !== "Pods" && type !== "Percent") errors.notSupported(`${path}.type`, type, ["Percent", "Pods"]);
  if (value <= 0) errors.invalid(`${path}.value`, value, "must be greater than zero");
  if (periodSeconds <= 0) errors.invalid(`${path}.periodSeconds`, periodSeconds, "must be greater than zero");
  if (periodSeconds > maxPeriod)
    errors.invalid(`${path}.periodSeconds`, periodSeconds, `must be less than or equal to ${maxPeriod}`);
}

function checkRules(errors: FieldErrors, path: string, rules: HPAScalingRules | undefined): void {
  if (!isSet(rules)) return;
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  if (isSet(window) && window < 0)
    errors.invalid(`${path}.stabilizationWindowSeconds`, window, "must be greater than or equal to zero");
  if (isSet(window) && window > maxWindow) {
    const detail = `must be less than or equal to ${maxWindow}`;
    errors.invalid(`${path}.stabilizationWindowSeconds`, window, detail);
  }
  const known = ["Disabled", "Max", "Min"];
  if (isSet(selectPolicy) && !known.includes(selectPolicy))
    errors.notSupported(`${path}.selectPolicy`, selectPolicy, known);
  if (policies.length === 0) errors.required(`${path}.policies`, "must specify at least one Policy");
  for (const [index, policy] of policies.entries()) checkPolicy(errors, `${path}.policies[${index}]`, policy);
  if (!isSet(tolerance)) return;
  const quantity = Quantity.parse(tolerance);
  if (quantity.sign < 0)
    errors.invalid(`${path}.tolerance`, quantity.toString(), "must be greater than or equal to 0");
}

function checkSpec(
  errors: FieldErrors,
  spec: Partial<HorizontalPodAutoscalerSpec>,
  old: HorizontalPodAutoscalerSpec | undefined,
  { features }: ValidationContext,
): void {
  const { minReplicas, maxReplicas = 0, metrics = [], behavior } = spec;
  // Without the gate, what is there already may stay.
  const least = features.enabled("HPAScaleToZero") || old?.minReplicas === 0 ? 0 : 1;
  if (isSet(minReplicas) && minReplicas < least)
    errors.invalid("spec.minReplicas", minReplicas, `must be greater than or equal to ${least}`);
  if (maxReplicas === 0) errors.required("spec.maxReplicas", "must be set and greater than 0");
  else if (maxReplicas < 0)
    errors.invalid("spec.maxReplicas", maxReplicas, "must be greater than or equal to 1");
  if (isSet(minReplicas) && maxReplicas < minReplicas)
    errors.invalid("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`");
  const target = spec.scaleTargetRef ?? { kind: "", name: "" };
  checkReference(errors, "spec.scaleTargetRef", target, targetRule(target, old?.scaleTargetRef));
  const objects = (old?.metrics ?? []).flatMap(({ type, object }) =>
    type === "Object" && isSet(object) ? [object.describedObject] : [],
  );
  const wasWrong = objects.some((object) => versionProblem(object, "withOrWithoutGroup") !== undefined);
  const rule = wasWrong ? "any" : "withOrWithoutGroup";
  for (const [index, metric] of metrics.entries())
    checkMetric(errors, `spec.metrics[${index}]`, metric, rule);
  if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External")) {
    const detail = "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.forbidden("spec.metrics", detail);
  }
  if (!isSet(behavior)) return;
  checkRules(errors, "spec.behavior.scaleUp", behavior.scaleUp);
  checkRules(errors, "spec.behavior.scaleDown", behavior.scaleDown);
}

/** ReplicationControllers are the one kind of the core group that scales. */
function targetRule(
  target: CrossVersionObjectReference,
  old: CrossVersionObjectReference | undefined,
): VersionRule {
  if (old !== undefined && old.kind === target.kind && (old.apiVersion ?? "") === (target.apiVersion ?? ""))
    return "any";
  return target.kind === "ReplicationController" ? "withOrWithoutGroup" : "withGroup";
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

export const horizontalPodAutoscalerValidation = {
  create(errors: FieldErrors, object: HorizontalPodAutoscaler, context: ValidationContext): void {
    checkObject(errors, object);
    checkSpec(errors, object.spec ?? {}, undefined, context);
  },
  update(
    errors: FieldErrors,
    object: HorizontalPodAutoscaler,
    old: HorizontalPodAutoscaler,
    context: ValidationContext,
  ): void {
    checkObjectUpdate(errors, object, old);
    checkSpec(errors, object.spec ?? {}, old.spec, context);
  },
  status(errors: FieldErrors, object: HorizontalPodAutoscaler, old: HorizontalPodAutoscaler): void {
    checkObjectUpdate(errors, object, old);
    errors.notNegative("status.currentReplicas", object.status?.currentReplicas);
    errors.notNegative("status.desiredReplicas", object.status?.desiredReplicas);
  },
};
