import { checkConditions } from "../../../checks/conditions.ts";
import { checkCounts } from "../../../checks/counts.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkAtMostAll, checkShare } from "../../../checks/int-or-percent.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObjectUpdate } from "../../../checks/objects.ts";
import { PodDisruptionBudget } from "../../../generated/policy/v1.ts";
import { defineKind } from "../../define.ts";

const evictions = ["AlwaysAllow", "IfHealthyBudget"];

function checkBudget(errors: FieldErrors, { spec }: PodDisruptionBudget): void {
  const given = (["minAvailable", "maxUnavailable"] as const).filter(
    (name) => spec?.[name] !== undefined && spec[name] !== null,
  );
  if (given.length === 2) {
    const printed = internalForm("policy/v1.PodDisruptionBudgetSpec", spec, errors);
    errors.at("spec").invalid(printed, "minAvailable and maxUnavailable cannot be both set");
  }
  for (const name of given) {
    checkShare(errors.at("spec").at(name), spec?.[name]);
    checkAtMostAll(errors.at("spec").at(name), spec?.[name]);
  }
  checkLabelSelector(errors.at("spec.selector"), spec?.selector);
  const policy = spec?.unhealthyPodEvictionPolicy;
  if (policy !== undefined && policy !== null && !evictions.includes(policy)) {
    errors.at("spec.unhealthyPodEvictionPolicy").notSupported(policy, evictions);
  }
}

const podDisruptionBudgetValidation = {
  // Upstream checks only the metadata that all kinds have in common: a name need only fit into a path.
  create: checkBudget,
  update(errors: FieldErrors, object: PodDisruptionBudget): void {
    checkBudget(errors, object);
  },
  status(errors: FieldErrors, object: PodDisruptionBudget, old: PodDisruptionBudget): void {
    checkObjectUpdate(errors, object, old);
    checkConditions(errors.at("status.conditions"), object.status?.conditions);
    checkCounts(errors, object.status, [
      "disruptionsAllowed",
      "currentHealthy",
      "desiredHealthy",
      "expectedPods",
    ]);
  },
};

export const podDisruptionBudget = defineKind(PodDisruptionBudget, {
  validation: podDisruptionBudgetValidation,
});
