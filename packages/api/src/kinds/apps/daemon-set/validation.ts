import type { ValidationContext } from "../../../checks/context.ts";
import { checkCollisions, checkCounts } from "../../../checks/counts.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { amountOf, checkAtMostAll, checkShare } from "../../../checks/int-or-percent.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { isEmptySelector } from "../../../checks/shown-selectors.ts";
import type { DaemonSet } from "../../../generated/apps/v1.ts";
import { checkEndless, checkMatch, checkTemplate } from "../../core/pod-template/template.ts";
import { checkSelectorKept } from "../replicas.ts";

function checkDaemonStrategy(errors: FieldErrors, { spec }: DaemonSet): void {
  const strategy = spec?.updateStrategy;
  const here = errors.at("spec.updateStrategy");
  if (strategy?.type === "OnDelete") return;
  if (strategy?.type !== "RollingUpdate") {
    const printed = internalForm("apps/v1.DaemonSetUpdateStrategy", strategy ?? {}, errors);
    here.notSupported(printed, ["RollingUpdate", "OnDelete"]);
    return;
  }
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate ?? {};
  const rolling = here.at("rollingUpdate");
  checkShare(rolling.at("maxUnavailable"), maxUnavailable);
  checkShare(rolling.at("maxSurge"), maxSurge);
  checkAtMostAll(rolling.at("maxUnavailable"), maxUnavailable);
  checkAtMostAll(rolling.at("maxSurge"), maxSurge);
  const [unavailable, surge] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0];
  if (unavailable && surge)
    rolling.at("maxSurge").invalid(maxSurge, "may not be set when maxUnavailable is non-zero");
  else if (!unavailable && !surge) rolling.at("maxUnavailable").required("cannot be 0 when maxSurge is 0");
}

function checkDaemonSetSpec(errors: FieldErrors, object: DaemonSet, context: ValidationContext): void {
  const { selector, template, minReadySeconds, revisionHistoryLimit } = object.spec ?? {};
  checkLabelSelector(errors.at("spec.selector"), selector);
  checkMatch(errors.at("spec.template"), selector, template);
  if (selector && isEmptySelector(selector))
    errors.at("spec.selector").invalid(selector, "empty selector is invalid for daemonset");
  checkTemplate(errors.at("spec.template"), template, context);
  checkEndless(errors.at("spec.template"), template, "DaemonSet");
  errors.at("spec.minReadySeconds").notNegative(minReadySeconds);
  checkDaemonStrategy(errors, object);
  errors.at("spec.revisionHistoryLimit").notNegative(revisionHistoryLimit);
}

export const daemonSetValidation = {
  create(errors: FieldErrors, object: DaemonSet, context: ValidationContext): void {
    checkObject(errors, object);
    checkDaemonSetSpec(errors, object, context);
  },
  update(errors: FieldErrors, object: DaemonSet, old: DaemonSet, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkSelectorKept(errors, object.spec?.selector, old.spec?.selector);
    checkDaemonSetSpec(errors, object, context);
  },
  status(errors: FieldErrors, object: DaemonSet, old: DaemonSet): void {
    checkObjectUpdate(errors, object, old);
    checkCounts(errors, object.status, [
      "currentNumberScheduled",
      "numberMisscheduled",
      "desiredNumberScheduled",
      "numberReady",
      "observedGeneration",
      "updatedNumberScheduled",
      "numberAvailable",
      "numberUnavailable",
      "collisionCount",
    ]);
    checkCollisions(errors, object.status, old.status);
  },
};
