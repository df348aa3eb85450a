/** PodDisruptionBudget and RuntimeClass. */
import type { RuntimeClass } from "../generated/node/v1.ts";
import type { PodDisruptionBudget } from "../generated/policy/v1.ts";
import { dnsLabel, dnsSubdomain } from "../values/names.ts";
import { checkConditions } from "./conditions.ts";
import type { ValidationContext } from "./context.ts";
import { checkImmutable, type FieldErrors, seenBefore } from "./field.ts";
import { internalForm } from "./internal.ts";
import { checkLabels, checkMetadata, checkMetadataUpdate } from "./metadata.ts";
import { checkLabelSelector } from "./nodeselector.ts";
import { checkResources } from "./pod/resources.ts";
import { checkTolerations } from "./pod/scheduling.ts";
import { checkAtMostAll, checkCounts, checkObjectUpdate, checkShare } from "./workloads/common.ts";

const evictions = ["AlwaysAllow", "IfHealthyBudget"];

function checkBudget(
  errors: FieldErrors,
  { spec }: PodDisruptionBudget,
  { features }: ValidationContext,
): void {
  const given = (["minAvailable", "maxUnavailable"] as const).filter(
    (name) => spec?.[name] !== undefined && spec[name] !== null,
  );
  if (given.length === 2) {
    const printed = internalForm("policy/v1.PodDisruptionBudgetSpec", spec, features.version);
    errors.invalid("spec", printed, "minAvailable and maxUnavailable cannot be both set");
  }
  for (const name of given) {
    checkShare(errors, `spec.${name}`, spec?.[name]);
    checkAtMostAll(errors, `spec.${name}`, spec?.[name]);
  }
  checkLabelSelector(errors, "spec.selector", spec?.selector);
  const policy = spec?.unhealthyPodEvictionPolicy;
  if (policy !== undefined && policy !== null && !evictions.includes(policy)) {
    errors.notSupported("spec.unhealthyPodEvictionPolicy", policy, evictions);
  }
}

export const podDisruptionBudget = {
  // Of the metadata upstream checks only what all kinds have in common: a name need only fit into a path.
  create: checkBudget,
  update(
    errors: FieldErrors,
    object: PodDisruptionBudget,
    _old: PodDisruptionBudget,
    context: ValidationContext,
  ): void {
    checkBudget(errors, object, context);
  },
  status(errors: FieldErrors, object: PodDisruptionBudget, old: PodDisruptionBudget): void {
    checkObjectUpdate(errors, object, old);
    checkConditions(errors, "status.conditions", object.status?.conditions);
    checkCounts(errors, object.status, [
      "disruptionsAllowed",
      "currentHealthy",
      "desiredHealthy",
      "expectedPods",
    ]);
  },
};

function checkRuntime(errors: FieldErrors, object: RuntimeClass, { features }: ValidationContext): void {
  // Upstream does not check the names of finalizers here.
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
  errors.checkRequired(dnsLabel, "handler", object.handler);
  if (object.overhead) checkResources(errors, "overhead", { limits: object.overhead.podFixed ?? {} });
  checkLabels(errors, "scheduling.nodeSelector", object.scheduling?.nodeSelector);
  const tolerations = object.scheduling?.tolerations ?? [];
  checkTolerations(errors, "scheduling.tolerations", { containers: [], tolerations });
  const repeated = seenBefore();
  tolerations.forEach((toleration, index) => {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    if (repeated(JSON.stringify([key, operator, value, effect]))) {
      errors.duplicate(
        `scheduling.tolerations[${index}]`,
        internalForm("core/v1.Toleration", toleration, features.version),
      );
    }
  });
}

export const runtimeClass = {
  create: checkRuntime,
  update(errors: FieldErrors, object: RuntimeClass, old: RuntimeClass, context: ValidationContext): void {
    checkRuntime(errors, object, context);
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkImmutable(errors, "handler", object.handler ?? "", old.handler);
  },
};
