import type { ValidationContext } from "../../../checks/context.ts";
import { checkCollisions, checkCounts } from "../../../checks/counts.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { amountOf, checkAtMostAll, checkShare } from "../../../checks/int-or-percent.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { Deployment, DeploymentStrategy } from "../../../generated/apps/v1.ts";
import { checkReplicaSpec, checkSelectorKept } from "../replicas.ts";

function checkStrategy(errors: FieldErrors, strategy: DeploymentStrategy | undefined): void {
  const here = errors.at("spec.strategy");
  const rolling = strategy?.rollingUpdate;
  if (strategy?.type === "Recreate") {
    if (rolling) {
      here.at("rollingUpdate").forbidden("may not be specified when strategy `type` is 'Recreate'");
    }
  } else if (strategy?.type === "RollingUpdate") {
    const update = here.at("rollingUpdate");
    checkShare(update.at("maxUnavailable"), rolling?.maxUnavailable);
    checkShare(update.at("maxSurge"), rolling?.maxSurge);
    if (amountOf(rolling?.maxUnavailable) === 0 && amountOf(rolling?.maxSurge) === 0) {
      const detail = "may not be 0 when `maxSurge` is 0";
      update.at("maxUnavailable").invalid(rolling?.maxUnavailable ?? 0, detail);
    }
    checkAtMostAll(update.at("maxUnavailable"), rolling?.maxUnavailable);
  } else {
    const printed = internalForm("apps/v1.DeploymentStrategy", strategy ?? {}, errors);
    here.notSupported(printed, ["Recreate", "RollingUpdate"]);
  }
}

function checkDeploymentSpec(errors: FieldErrors, { spec }: Deployment, context: ValidationContext): void {
  errors.at("spec.replicas").notNegative(spec?.replicas);
  checkReplicaSpec(errors, spec, context);
  checkStrategy(errors, spec?.strategy);
  errors.at("spec.minReadySeconds").notNegative(spec?.minReadySeconds);
  errors.at("spec.revisionHistoryLimit").notNegative(spec?.revisionHistoryLimit);
  const deadline = spec?.progressDeadlineSeconds;
  errors.at("spec.progressDeadlineSeconds").notNegative(deadline);
  if (deadline !== undefined && deadline !== null && deadline <= (spec?.minReadySeconds ?? 0)) {
    errors.at("spec.progressDeadlineSeconds").invalid(deadline, "must be greater than minReadySeconds");
  }
}

export const deploymentValidation = {
  create(errors: FieldErrors, object: Deployment, context: ValidationContext): void {
    checkObject(errors, object);
    checkDeploymentSpec(errors, object, context);
  },
  update(errors: FieldErrors, object: Deployment, old: Deployment, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkDeploymentSpec(errors, object, context);
    checkSelectorKept(errors, object.spec?.selector, old.spec?.selector);
  },
  status(errors: FieldErrors, object: Deployment, old: Deployment): void {
    checkObjectUpdate(errors, object, old);
    checkCounts(
      errors,
      object.status,
      [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
      ],
      { parts: ["updatedReplicas", "readyReplicas", "availableReplicas"] },
    );
    checkCollisions(errors, object.status, old.status);
  },
};
