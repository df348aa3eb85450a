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
  reference: CrossVersionObjectReference,
  rule: VersionRule,
): void {
  errors.at("kind").checkRequired(pathSegment, reference.kind);
  errors.at("name").checkRequired(pathSegment, reference.name);
  const problem = versionProblem(reference, rule);
  if (problem !== undefined) errors.at("apiVersion").invalid(reference.apiVersion ?? "", problem);
}

function checkIdentifier(errors: FieldErrors, { name }: MetricIdentifier): void {
  if (!name) errors.at("name").required("must specify a metric name");
  else errors.at("name").check(pathSegment, name);
}

function checkPositive(errors: FieldErrors, value: string | undefined): void {
  if (value === undefined || value === null) return;
  const quantity = Quantity.parse(value);
  if (quantity.sign !== 1) errors.invalid(quantity.toString(), "must be positive");
}

function checkTarget(errors: FieldErrors, target: MetricTarget): void {
  const { type = "", value, averageValue, averageUtilization } = target;
  if (type === "") errors.at("type").required("must specify a metric target type");
  if (!["Utilization", "Value", "AverageValue"].includes(type))
    errors.at("type").invalid(type, "must be either Utilization, Value, or AverageValue");
  checkPositive(errors.at("value"), value);
  checkPositive(errors.at("averageValue"), averageValue);
  if (isSet(averageUtilization) && averageUtilization < 1)
    errors.at("averageUtilization").invalid(averageUtilization, "must be greater than 0");
}

/** A target for resources is a quantity or a share of the requests. */
function checkShareOrValue(errors: FieldErrors, target: MetricTarget): void {
  checkTarget(errors, target);
  const { averageUtilization, averageValue } = target;
  if (!isSet(averageUtilization) && !isSet(averageValue)) {
    const detail = "must set either a target raw value or a target utilization";
    errors.at("averageUtilization").required(detail);
  }
  if (isSet(averageUtilization) && isSet(averageValue))
    errors.at("averageValue").forbidden("may not set both a target raw value and a target utilization");
}

function checkResource(errors: FieldErrors, source: ResourceMetricSource): void {
  if (!source.name) errors.at("name").required("must specify a resource name");
  checkShareOrValue(errors.at("target"), source.target);
}

/** Accepts a standard resource, one of Kubernetes' own domain, or an extended resource. */
function checkResourceName(errors: FieldErrors, name: string): void {
  errors.check(qualifiedName, name);
  const isStandard = ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
  if (!name.includes("/") && !isStandard) {
    errors.invalid(name, "must be a standard resource type or fully qualified");
    errors.invalid(name, "must be a standard resource for containers");
  }
  if (!name.includes("/") || name.includes("kubernetes.io/")) return;
  if (name.startsWith("requests.") || qualifiedName(`requests.${name}`).length > 0)
    errors.invalid(name, "doesn't follow extended resource name standard");
}

function checkContainerResource(errors: FieldErrors, source: ContainerResourceMetricSource): void {
  const { name, container } = source;
  if (!name) errors.at("name").required("must specify a resource name");
  else checkResourceName(errors.at("name"), name);
  if (!container) errors.at("container").required("must specify a container");
  else errors.at("container").check(dnsLabel, container);
  checkShareOrValue(errors.at("target"), source.target);
}

const checkSource: {
  readonly [Name in (typeof sources)[number]]: (
    errors: FieldErrors,
    source: NonNullable<MetricSpec[Name]>,
    rule: VersionRule,
  ) => void;
} = {
  object(errors, { describedObject, metric, target }, rule) {
    checkReference(errors.at("describedObject"), describedObject, rule);
    checkIdentifier(errors.at("metric"), metric);
    checkTarget(errors.at("target"), target);
    if (!isSet(target.value) && !isSet(target.averageValue))
      errors.at("target.averageValue").required("must set either a target value or averageValue");
  },
  external(errors, { metric, target }) {
    checkIdentifier(errors.at("metric"), metric);
    checkTarget(errors.at("target"), target);
    const [whole, each] = [isSet(target.value), isSet(target.averageValue)];
    if (!whole && !each) {
      const detail = "must set either a target value for metric or a per-pod target";
      errors.at("target.averageValue").required(detail);
    }
    if (whole && each) {
      const detail = "may not set both a target value for metric and a per-pod target";
      errors.at("target.value").forbidden(detail);
    }
  },
  pods(errors, { metric, target }) {
    checkIdentifier(errors.at("metric"), metric);
    checkTarget(errors.at("target"), target);
    if (!isSet(target.averageValue))
      errors.at("target.averageValue").required("must specify a positive target averageValue");
  },
  resource: checkResource,
  containerResource: checkContainerResource,
};

function checkMetric(errors: FieldErrors, metric: MetricSpec, rule: VersionRule): void {
  const type: string = metric.type ?? "";
  const isKnown = metricTypes.includes(type);
  if (type === "") errors.at("type").required("must specify a metric source type");
  if (!isKnown) errors.at("type").notSupported(type, metricTypes);
  const present = sources.filter((name) => isSet(metric[name]));
  // The first source that is set is validated, whatever the type.
  const first = present[0];
  if (first !== undefined) checkSource[first](errors.at(first), metric[first] as never, rule);
  const expected = isKnown ? `${type.slice(0, 1).toLowerCase()}${type.slice(1)}` : undefined;
  if (expected === undefined) errors.at("type").notSupported(type, metricTypes);
  else if (!present.some((name) => name === expected))
    errors.at(expected).required("must populate information for the given metric source");
  if (present.length === 1) return;
  for (const name of present)
    if (name !== expected) errors.at(name).forbidden("must populate the given metric source only");
}

function checkPolicy(errors: FieldErrors, policy: HPAScalingPolicy): void {
  const { type = "", value = 0, periodSeconds = 0 } = policy;
  if (type !== "Pods" && type !== "Percent") errors.at("type").notSupported(type, ["Percent", "Pods"]);
  if (value <= 0) errors.at("value").invalid(value, "must be greater than zero");
  if (periodSeconds <= 0) errors.at("periodSeconds").invalid(periodSeconds, "must be greater than zero");
  if (periodSeconds > maxPeriod)
    errors.at("periodSeconds").invalid(periodSeconds, `must be less than or equal to ${maxPeriod}`);
}

function checkRules(errors: FieldErrors, rules: HPAScalingRules | undefined): void {
  if (!isSet(rules)) return;
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  if (isSet(window) && window < 0)
    errors.at("stabilizationWindowSeconds").invalid(window, "must be greater than or equal to zero");
  if (isSet(window) && window > maxWindow) {
    const detail = `must be less than or equal to ${maxWindow}`;
    errors.at("stabilizationWindowSeconds").invalid(window, detail);
  }
  const known = ["Disabled", "Max", "Min"];
  if (isSet(selectPolicy) && !known.includes(selectPolicy))
    errors.at("selectPolicy").notSupported(selectPolicy, known);
  if (policies.length === 0) errors.at("policies").required("must specify at least one Policy");
  for (const [index, policy] of policies.entries()) checkPolicy(errors.at("policies").index(index), policy);
  if (!isSet(tolerance)) return;
  const quantity = Quantity.parse(tolerance);
  if (quantity.sign < 0)
    errors.at("tolerance").invalid(quantity.toString(), "must be greater than or equal to 0");
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
    errors.at("spec.minReplicas").invalid(minReplicas, `must be greater than or equal to ${least}`);
  if (maxReplicas === 0) errors.at("spec.maxReplicas").required("must be set and greater than 0");
  else if (maxReplicas < 0)
    errors.at("spec.maxReplicas").invalid(maxReplicas, "must be greater than or equal to 1");
  if (isSet(minReplicas) && maxReplicas < minReplicas)
    errors.at("spec.maxReplicas").invalid(maxReplicas, "must be greater than or equal to `minReplicas`");
  const target = spec.scaleTargetRef ?? { kind: "", name: "" };
  checkReference(errors.at("spec.scaleTargetRef"), target, targetRule(target, old?.scaleTargetRef));
  const objects = (old?.metrics ?? []).flatMap(({ type, object }) =>
    type === "Object" && isSet(object) ? [object.describedObject] : [],
  );
  const wasWrong = objects.some((object) => versionProblem(object, "withOrWithoutGroup") !== undefined);
  const rule = wasWrong ? "any" : "withOrWithoutGroup";
  for (const [index, metric] of metrics.entries())
    checkMetric(errors.at("spec.metrics").index(index), metric, rule);
  if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External")) {
    const detail = "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.at("spec.metrics").forbidden(detail);
  }
  if (!isSet(behavior)) return;
  checkRules(errors.at("spec.behavior.scaleUp"), behavior.scaleUp);
  checkRules(errors.at("spec.behavior.scaleDown"), behavior.scaleDown);
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
    errors.at("status.currentReplicas").notNegative(object.status?.currentReplicas);
    errors.at("status.desiredReplicas").notNegative(object.status?.desiredReplicas);
  },
};
