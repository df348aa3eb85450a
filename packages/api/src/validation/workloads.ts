/** DaemonSet, Deployment, ReplicaSet, StatefulSet, ControllerRevision. */
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
} from "../generated/apps/v1.ts";
import type { PodTemplateSpec } from "../generated/core/v1.ts";
import type { LabelSelector } from "../generated/meta/v1.ts";
import { dnsSubdomain, isPercent } from "../names.ts";
import type { IntOrString, KubeObject } from "../object.ts";
import { labelSelectorOf, SelectorError } from "../selectors/index.ts";
import { checkImmutable, type FieldErrors, sameValue } from "./field.ts";
import {
  checkAnnotations,
  checkFinalizerNames,
  checkLabels,
  checkMetadata,
  checkMetadataUpdate,
} from "./metadata.ts";
import { checkLabelSelector } from "./nodeselector.ts";
import { checkPodSpec } from "./pod/spec.ts";

const notNegative = "must be greater than or equal to 0";

function checkCount(errors: FieldErrors, path: string, count: number | undefined): void {
  if (count !== undefined && count < 0) errors.invalid(path, count, notNegative);
}

/** A number of pods, or a share of them. */
function checkShare(
  errors: FieldErrors,
  path: string,
  value: IntOrString | undefined,
  atMostAll: boolean,
): void {
  if (value === undefined) return;
  if (typeof value === "number") checkCount(errors, path, value);
  else {
    const problems = isPercent(value);
    if (problems.length > 0) {
      errors.invalid(path, value, "must be an integer or percentage (e.g '5%%')");
    } else if (atMostAll && Number.parseInt(value, 10) > 100)
      errors.invalid(path, value, "must not be greater than 100%");
  }
}

const isZero = (value: IntOrString | undefined): boolean =>
  value === undefined || value === 0 || (typeof value === "string" && Number.parseInt(value, 10) === 0);

function checkSelector(errors: FieldErrors, selector: LabelSelector | undefined): boolean {
  const path = "spec.selector";
  if (!selector) {
    errors.required(path);
    return true;
  }
  const before = errors.list.length;
  checkLabelSelector(errors, path, selector);
  const empty =
    Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
  if (empty) errors.invalid(path, {}, "empty selector is invalid for deployment");
  return errors.list.length === before;
}

/** The template must make pods that the selector finds. */
function checkTemplate(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
): void {
  const path = "spec.template";
  const labels = template?.metadata?.labels;
  let matches = true;
  try {
    matches = labelSelectorOf(selector).matches(labels);
  } catch (error) {
    // A selector that is wrong in itself has been reported.
    if (!(error instanceof SelectorError)) throw error;
  }
  if (!matches) {
    const detail = "`selector` does not match template `labels`";
    errors.invalid(`${path}.metadata.labels`, labels ?? null, detail);
  }
  checkLabels(errors, `${path}.labels`, labels);
  checkAnnotations(errors, `${path}.annotations`, template?.metadata?.annotations);
  checkPodSpec(errors, `${path}.spec`, template?.spec ?? { containers: [] }, "");
  const restart = template?.spec?.restartPolicy;
  if (restart && restart !== "Always") errors.notSupported(`${path}.spec.restartPolicy`, restart, ["Always"]);
  if (template?.spec?.activeDeadlineSeconds !== undefined) {
    const detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
    errors.forbidden(`${path}.spec.activeDeadlineSeconds`, detail);
  }
}

function checkObject(errors: FieldErrors, object: KubeObject): void {
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

function checkObjectUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

interface SelectingSpec {
  readonly selector?: LabelSelector;
}

function checkSelectorUnchanged(
  errors: FieldErrors,
  spec: SelectingSpec | undefined,
  old: SelectingSpec | undefined,
): void {
  checkImmutable(errors, "spec.selector", spec?.selector, old?.selector);
}

function checkDeploymentSpec(errors: FieldErrors, { spec }: Deployment): void {
  checkCount(errors, "spec.replicas", spec?.replicas);
  const sound = checkSelector(errors, spec?.selector);
  if (sound) checkTemplate(errors, spec?.selector, spec?.template);
  else checkPodSpec(errors, "spec.template.spec", spec?.template?.spec ?? { containers: [] }, "");
  const strategy = spec?.strategy;
  const path = "spec.strategy";
  if (strategy?.type === "Recreate") {
    if (strategy.rollingUpdate) {
      errors.forbidden(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'");
    }
  } else if (strategy?.type === "RollingUpdate") {
    const rolling = strategy.rollingUpdate;
    checkShare(errors, `${path}.rollingUpdate.maxUnavailable`, rolling?.maxUnavailable, true);
    checkShare(errors, `${path}.rollingUpdate.maxSurge`, rolling?.maxSurge, false);
    if (isZero(rolling?.maxUnavailable) && isZero(rolling?.maxSurge)) {
      const detail = "may not be 0 when `maxSurge` is 0";
      errors.invalid(`${path}.rollingUpdate.maxUnavailable`, rolling?.maxUnavailable ?? 0, detail);
    }
  } else errors.notSupported(path, strategy?.type ?? "", ["Recreate", "RollingUpdate"]);
  checkCount(errors, "spec.minReadySeconds", spec?.minReadySeconds);
  checkCount(errors, "spec.revisionHistoryLimit", spec?.revisionHistoryLimit);
  checkCount(errors, "spec.progressDeadlineSeconds", spec?.progressDeadlineSeconds);
  const deadline = spec?.progressDeadlineSeconds;
  if (deadline !== undefined && deadline <= (spec?.minReadySeconds ?? 0)) {
    errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
  }
}

export const deployment = {
  create(errors: FieldErrors, object: Deployment): void {
    checkObject(errors, object);
    checkDeploymentSpec(errors, object);
  },
  update(errors: FieldErrors, object: Deployment, old: Deployment): void {
    checkObjectUpdate(errors, object, old);
    checkDeploymentSpec(errors, object);
    checkSelectorUnchanged(errors, object.spec, old.spec);
  },
};

function checkDaemonSetSpec(errors: FieldErrors, { spec }: DaemonSet): void {
  checkLabelSelector(errors, "spec.selector", spec?.selector);
  const selector = spec?.selector;
  const labels = spec?.template?.metadata?.labels;
  const empty =
    Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
  if (empty) errors.invalid("spec.selector", selector ?? null, "empty selector is invalid for daemonset");
  checkTemplate(errors, empty ? { matchLabels: labels ?? {} } : selector, spec?.template);
  const strategy = spec?.updateStrategy;
  const path = "spec.updateStrategy";
  if (strategy?.type === "RollingUpdate") {
    const rolling = strategy.rollingUpdate;
    checkShare(errors, `${path}.rollingUpdate.maxUnavailable`, rolling?.maxUnavailable, true);
    checkShare(errors, `${path}.rollingUpdate.maxSurge`, rolling?.maxSurge, true);
    const [unavailable, surge] = [!isZero(rolling?.maxUnavailable), !isZero(rolling?.maxSurge)];
    if (unavailable && surge) {
      errors.invalid(
        `${path}.rollingUpdate.maxSurge`,
        rolling?.maxSurge,
        "may not be set when maxUnavailable is non-zero",
      );
    } else if (!unavailable && !surge) {
      errors.required(`${path}.rollingUpdate.maxUnavailable`, "cannot be 0 when maxSurge is 0");
    }
  } else if (strategy?.type !== "OnDelete") {
    errors.notSupported(path, strategy?.type ?? "", ["RollingUpdate", "OnDelete"]);
  }
  checkCount(errors, "spec.minReadySeconds", spec?.minReadySeconds);
  checkCount(errors, "spec.revisionHistoryLimit", spec?.revisionHistoryLimit);
}

export const daemonSet = {
  create(errors: FieldErrors, object: DaemonSet): void {
    checkObject(errors, object);
    checkDaemonSetSpec(errors, object);
  },
  update(errors: FieldErrors, object: DaemonSet, old: DaemonSet): void {
    checkObjectUpdate(errors, object, old);
    checkSelectorUnchanged(errors, object.spec, old.spec);
    checkDaemonSetSpec(errors, object);
  },
};

function checkReplicas(errors: FieldErrors, { spec }: ReplicaSet | StatefulSet): void {
  checkCount(errors, "spec.replicas", spec?.replicas);
  checkCount(errors, "spec.minReadySeconds", spec?.minReadySeconds);
  if (checkSelector(errors, spec?.selector)) checkTemplate(errors, spec?.selector, spec?.template);
}

export const replicaSet = {
  create(errors: FieldErrors, object: ReplicaSet): void {
    checkObject(errors, object);
    checkReplicas(errors, object);
  },
  update(errors: FieldErrors, object: ReplicaSet, old: ReplicaSet): void {
    checkObjectUpdate(errors, object, old);
    checkReplicas(errors, object);
    checkSelectorUnchanged(errors, object.spec, old.spec);
  },
};

const statefulMutable =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
  "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

export const statefulSet = {
  create(errors: FieldErrors, object: StatefulSet): void {
    checkObject(errors, object);
    checkReplicas(errors, object);
  },
  update(errors: FieldErrors, object: StatefulSet, old: StatefulSet): void {
    checkObjectUpdate(errors, object, old);
    checkReplicas(errors, object);
    const fixed = ["serviceName", "podManagementPolicy", "selector", "volumeClaimTemplates"] as const;
    if (fixed.some((name) => !sameValue(object.spec?.[name], old.spec?.[name]))) {
      errors.forbidden("spec", statefulMutable);
    }
  },
};

export const controllerRevision = {
  create(errors: FieldErrors, object: ControllerRevision): void {
    checkObject(errors, object);
    if (object.data === undefined || object.data === null) errors.required("data", "data is mandatory");
    if ((object.revision ?? 0) < 0) errors.invalid("revision", object.revision, notNegative);
  },
  update(errors: FieldErrors, object: ControllerRevision, old: ControllerRevision): void {
    checkObjectUpdate(errors, object, old);
    this.create(errors, object);
    checkImmutable(errors, "data", object.data, old.data);
  },
};
