/** Deployment, ReplicaSet, DaemonSet, ControllerRevision. */
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  DeploymentStrategy,
  ReplicaSet,
} from "../../generated/apps/v1.ts";
import type { LabelSelector } from "../../generated/meta/v1.ts";
import type { ValidationContext } from "../context.ts";
import { checkImmutable, type FieldErrors } from "../field.ts";
import { internalForm } from "../internal.ts";
import { checkLabelSelector } from "../nodeselector.ts";
import {
  amountOf,
  checkAtMostAll,
  checkCollisions,
  checkCounts,
  checkEndless,
  checkMatch,
  checkObject,
  checkObjectUpdate,
  checkShare,
  checkTemplate,
  isEmptySelector,
  selects,
  shownSelector,
} from "./common.ts";

function checkSelectorKept(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  old: LabelSelector | undefined,
): void {
  checkImmutable(errors, "spec.selector", selector, old, () => shownSelector(selector));
}

function checkReplicaSpec(
  errors: FieldErrors,
  spec: Deployment["spec"] | ReplicaSet["spec"],
  context: ValidationContext,
): void {
  const { selector, template } = spec ?? {};
  if (!selector) errors.required("spec.selector");
  else {
    checkLabelSelector(errors, "spec.selector", selector);
    if (isEmptySelector(selector))
      errors.invalid("spec.selector", selector, "empty selector is invalid for deployment");
  }
  if (selects(selector, {}) === undefined) {
    errors.invalid("spec.selector", shownSelector(selector), "invalid label selector");
    return;
  }
  // No selector at all selects nothing; an empty one is not compared.
  if (!selector || !isEmptySelector(selector)) checkMatch(errors, "spec.template", selector, template);
  checkTemplate(errors, "spec.template", template, context);
  checkEndless(errors, "spec.template", template, "ReplicaSet");
}

function checkStrategy(errors: FieldErrors, strategy: DeploymentStrategy | undefined, version: string): void {
  const path = "spec.strategy";
  const rolling = strategy?.rollingUpdate;
  if (strategy?.type === "Recreate") {
    if (rolling) {
      errors.forbidden(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'");
    }
  } else if (strategy?.type === "RollingUpdate") {
    const at = `${path}.rollingUpdate`;
    checkShare(errors, `${at}.maxUnavailable`, rolling?.maxUnavailable);
    checkShare(errors, `${at}.maxSurge`, rolling?.maxSurge);
    if (amountOf(rolling?.maxUnavailable) === 0 && amountOf(rolling?.maxSurge) === 0) {
      const detail = "may not be 0 when `maxSurge` is 0";
      errors.invalid(`${at}.maxUnavailable`, rolling?.maxUnavailable ?? 0, detail);
    }
    checkAtMostAll(errors, `${at}.maxUnavailable`, rolling?.maxUnavailable);
  } else {
    const printed = internalForm("apps/v1.DeploymentStrategy", strategy ?? {}, version);
    errors.notSupported(path, printed, ["Recreate", "RollingUpdate"]);
  }
}

function checkDeploymentSpec(errors: FieldErrors, { spec }: Deployment, context: ValidationContext): void {
  errors.notNegative("spec.replicas", spec?.replicas);
  checkReplicaSpec(errors, spec, context);
  checkStrategy(errors, spec?.strategy, context.features.version);
  errors.notNegative("spec.minReadySeconds", spec?.minReadySeconds);
  errors.notNegative("spec.revisionHistoryLimit", spec?.revisionHistoryLimit);
  const deadline = spec?.progressDeadlineSeconds;
  errors.notNegative("spec.progressDeadlineSeconds", deadline);
  if (deadline !== undefined && deadline !== null && deadline <= (spec?.minReadySeconds ?? 0)) {
    errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
  }
}

export const deployment = {
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
      ["updatedReplicas", "readyReplicas", "availableReplicas"],
    );
    checkCollisions(errors, object.status, old.status);
  },
};

function checkReplicaSetSpec(errors: FieldErrors, { spec }: ReplicaSet, context: ValidationContext): void {
  errors.notNegative("spec.replicas", spec?.replicas);
  errors.notNegative("spec.minReadySeconds", spec?.minReadySeconds);
  checkReplicaSpec(errors, spec, context);
}

export const replicaSet = {
  create(errors: FieldErrors, object: ReplicaSet, context: ValidationContext): void {
    checkObject(errors, object);
    checkReplicaSetSpec(errors, object, context);
  },
  update(errors: FieldErrors, object: ReplicaSet, old: ReplicaSet, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkReplicaSetSpec(errors, object, context);
    checkSelectorKept(errors, object.spec?.selector, old.spec?.selector);
  },
  status(errors: FieldErrors, object: ReplicaSet, old: ReplicaSet): void {
    checkObjectUpdate(errors, object, old);
    checkCounts(
      errors,
      object.status,
      [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
      ],
      ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    );
  },
};

function checkDaemonStrategy(errors: FieldErrors, { spec }: DaemonSet, version: string): void {
  const strategy = spec?.updateStrategy;
  const path = "spec.updateStrategy";
  if (strategy?.type === "OnDelete") return;
  if (strategy?.type !== "RollingUpdate") {
    const printed = internalForm("apps/v1.DaemonSetUpdateStrategy", strategy ?? {}, version);
    errors.notSupported(path, printed, ["RollingUpdate", "OnDelete"]);
    return;
  }
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate ?? {};
  const at = `${path}.rollingUpdate`;
  checkShare(errors, `${at}.maxUnavailable`, maxUnavailable);
  checkShare(errors, `${at}.maxSurge`, maxSurge);
  checkAtMostAll(errors, `${at}.maxUnavailable`, maxUnavailable);
  checkAtMostAll(errors, `${at}.maxSurge`, maxSurge);
  const [unavailable, surge] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0];
  if (unavailable && surge)
    errors.invalid(`${at}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero");
  else if (!unavailable && !surge) errors.required(`${at}.maxUnavailable`, "cannot be 0 when maxSurge is 0");
}

function checkDaemonSetSpec(errors: FieldErrors, object: DaemonSet, context: ValidationContext): void {
  const { selector, template, minReadySeconds, revisionHistoryLimit } = object.spec ?? {};
  checkLabelSelector(errors, "spec.selector", selector);
  checkMatch(errors, "spec.template", selector, template);
  if (selector && isEmptySelector(selector))
    errors.invalid("spec.selector", selector, "empty selector is invalid for daemonset");
  checkTemplate(errors, "spec.template", template, context);
  checkEndless(errors, "spec.template", template, "DaemonSet");
  errors.notNegative("spec.minReadySeconds", minReadySeconds);
  checkDaemonStrategy(errors, object, context.features.version);
  errors.notNegative("spec.revisionHistoryLimit", revisionHistoryLimit);
}

export const daemonSet = {
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

function checkRevision(errors: FieldErrors, object: ControllerRevision): void {
  checkObject(errors, object);
  errors.notNegative("revision", object.revision);
}

export const controllerRevision = {
  create(errors: FieldErrors, object: ControllerRevision): void {
    checkRevision(errors, object);
    const data: unknown = object.data;
    if (data === undefined || data === null) errors.required("data", "data is mandatory");
    else if (typeof data !== "object" || Array.isArray(data))
      errors.required("data", "data must be a valid JSON object");
  },
  update(errors: FieldErrors, object: ControllerRevision, old: ControllerRevision): void {
    checkObjectUpdate(errors, object, old);
    checkRevision(errors, object);
    checkImmutable(errors, "data", object.data, old.data);
  },
};
