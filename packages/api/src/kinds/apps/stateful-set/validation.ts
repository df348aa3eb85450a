import type { ValidationContext } from "../../../checks/context.ts";
import { checkCollisions, checkCounts } from "../../../checks/counts.ts";
import { checkImmutable, FieldErrors, sameValue } from "../../../checks/field.ts";
import { amountOf, checkAtMostAll, checkShare } from "../../../checks/int-or-percent.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { isEmptySelector, selects, shownSelector } from "../../../checks/shown-selectors.ts";
import type { StatefulSet, StatefulSetSpec } from "../../../generated/apps/v1.ts";
import type { PodTemplateSpec, Volume } from "../../../generated/core/v1.ts";
import { dnsLabel } from "../../../values/names.ts";
import { checkClaimSpec } from "../../core/persistent-volume-claim/validation.ts";
import {
  checkEndless,
  checkMatch,
  checkTemplate,
  checkTemplateMetadata,
} from "../../core/pod-template/template.ts";

function checkStrategy(errors: FieldErrors, spec: StatefulSetSpec | undefined, version: string): void {
  const strategy = spec?.updateStrategy;
  const path = "spec.updateStrategy";
  const rolling = strategy?.rollingUpdate;
  const at = `${path}.rollingUpdate`;
  if (!strategy?.type) errors.required(path);
  else if (strategy.type === "OnDelete") {
    if (rolling) {
      const printed = internalForm("apps/v1.RollingUpdateStatefulSetStrategy", rolling, version);
      errors.invalid(at, printed, "only allowed for updateStrategy 'RollingUpdate'");
    }
  } else if (strategy.type === "RollingUpdate") {
    errors.notNegative(`${at}.partition`, rolling?.partition);
    const share = rolling?.maxUnavailable;
    if (share === undefined || share === null) return;
    checkShare(errors, `${at}.maxUnavailable`, share);
    if (amountOf(share) === 0) errors.invalid(`${at}.maxUnavailable`, share, "cannot be 0");
    checkAtMostAll(errors, `${at}.maxUnavailable`, share);
  } else {
    const printed = internalForm("apps/v1.StatefulSetUpdateStrategy", strategy, version);
    errors.invalid(path, printed, "must be 'RollingUpdate' or 'OnDelete'");
  }
}

/** The template as the pods get it: with a volume for each claim, and names that the set gives. */
function filledTemplate(spec: StatefulSetSpec): PodTemplateSpec {
  const { template, volumeClaimTemplates = [] } = spec;
  const { hostname: _host, subdomain: _domain, ...pod } = template?.spec ?? { containers: [] };
  const claims = volumeClaimTemplates.map(
    ({ metadata }): Volume => ({
      name: metadata?.name ?? "",
      persistentVolumeClaim: { claimName: metadata?.name ?? "" },
    }),
  );
  const named = new Map(claims.map((volume) => [volume.name, volume]));
  const others = (pod.volumes ?? []).filter(({ name }) => !named.has(name));
  const volumes = claims.length > 0 ? { volumes: [...named.values(), ...others] } : {};
  return { ...template, spec: { ...pod, ...volumes } };
}

/** `old`: the stored one; what it may keep though it is wrong is not looked at again. */
function checkSpec(
  errors: FieldErrors,
  object: StatefulSet,
  context: ValidationContext,
  old?: StatefulSet,
): void {
  const spec = object.spec ?? ({} as StatefulSetSpec);
  const policies = ["OrderedReady", "Parallel"];
  if (!spec.podManagementPolicy) errors.required("spec.podManagementPolicy");
  else if (!policies.includes(spec.podManagementPolicy)) {
    errors.invalid(
      "spec.podManagementPolicy",
      spec.podManagementPolicy,
      "must be 'OrderedReady' or 'Parallel'",
    );
  }
  checkStrategy(errors, spec, context.features.version);
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  for (const name of ["whenDeleted", "whenScaled"] as const) {
    const policy = retention?.[name] ?? "";
    if (retention && !["Retain", "Delete"].includes(policy)) {
      errors.notSupported(`spec.persistentVolumeClaimRetentionPolicy.${name}`, policy, ["Retain", "Delete"]);
    }
  }
  if (old === undefined) {
    (spec.volumeClaimTemplates ?? []).forEach((claim, index) => {
      checkClaimSpec(errors, `spec.volumeClaimTemplates[${index}].spec`, claim.spec);
    });
  }
  errors.notNegative("spec.replicas", spec.replicas);
  errors.notNegative("spec.minReadySeconds", spec.minReadySeconds);
  errors.notNegative("spec.ordinals.start", spec.ordinals?.start);
  if (old === undefined && spec.serviceName) errors.check(dnsLabel, "spec.serviceName", spec.serviceName);
  const { selector } = spec;
  if (!selector) errors.required("spec.selector");
  else {
    checkLabelSelector(errors, "spec.selector", selector);
    if (isEmptySelector(selector))
      errors.invalid("spec.selector", shownSelector(selector), "empty selector is invalid for statefulset");
  }
  if (selects(selector, {}) === undefined) errors.invalid("spec.selector", shownSelector(selector), "");
  else {
    if (!selector || !isEmptySelector(selector)) checkMatch(errors, "spec.template", selector, spec.template);
    if (old === undefined || isSound(old, context))
      checkTemplate(errors, "spec.template", filledTemplate(spec), context);
    // Upstream looks at the metadata of this template twice.
    checkTemplateMetadata(errors, "spec.template", spec.template);
  }
  checkEndless(errors, "spec.template", spec.template, "StatefulSet");
}

function isSound(object: StatefulSet, context: ValidationContext): boolean {
  const errors = new FieldErrors();
  checkSpec(errors, object, context);
  return errors.list.length === 0;
}

const changeable = [
  "replicas",
  "template",
  "updateStrategy",
  "minReadySeconds",
  "ordinals",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
] as const;

const mutable =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
  "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

function fixedPart(spec: StatefulSetSpec | undefined): object {
  const rest: Partial<StatefulSetSpec> = { ...spec };
  for (const name of changeable) delete rest[name];
  return rest;
}

/** Since 1.37 these fields are declared immutable, each by itself. */
function checkFixedFields(
  errors: FieldErrors,
  spec: StatefulSetSpec | undefined,
  old: StatefulSetSpec | undefined,
): void {
  const { selector, volumeClaimTemplates: claims } = spec ?? {};
  checkImmutable(errors, "spec.selector", selector, old?.selector, () => shownSelector(selector));
  checkImmutable(errors, "spec.volumeClaimTemplates", claims, old?.volumeClaimTemplates, () =>
    internalForm("[]core/v1.PersistentVolumeClaim", claims, errors.release),
  );
  checkImmutable(errors, "spec.serviceName", spec?.serviceName ?? "", old?.serviceName ?? "");
  checkImmutable(errors, "spec.podManagementPolicy", spec?.podManagementPolicy, old?.podManagementPolicy);
}

export const statefulSetValidation = {
  create(errors: FieldErrors, object: StatefulSet, context: ValidationContext): void {
    checkObject(errors, object, dnsLabel);
    checkSpec(errors, object, context);
  },
  update(errors: FieldErrors, object: StatefulSet, old: StatefulSet, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkSpec(errors, object, context, old);
    if (errors.release >= "1.37") checkFixedFields(errors, object.spec, old.spec);
    else if (!sameValue(fixedPart(object.spec), fixedPart(old.spec))) errors.forbidden("spec", mutable);
  },
  status(errors: FieldErrors, object: StatefulSet, old: StatefulSet): void {
    checkCounts(
      errors,
      object.status,
      [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
      ],
      ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
      "status.readyReplicas",
    );
    checkObjectUpdate(errors, object, old);
    checkCollisions(errors, object.status, old.status);
  },
};
