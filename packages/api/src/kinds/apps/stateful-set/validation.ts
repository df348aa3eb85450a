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

function checkStrategy(errors: FieldErrors, spec: StatefulSetSpec | undefined): void {
  const strategy = spec?.updateStrategy;
  const here = errors.at("spec.updateStrategy");
  const rolling = strategy?.rollingUpdate;
  const update = here.at("rollingUpdate");
  if (!strategy?.type) here.required();
  else if (strategy.type === "OnDelete") {
    if (rolling) {
      const printed = internalForm("apps/v1.RollingUpdateStatefulSetStrategy", rolling, errors);
      update.invalid(printed, "only allowed for updateStrategy 'RollingUpdate'");
    }
  } else if (strategy.type === "RollingUpdate") {
    update.at("partition").notNegative(rolling?.partition);
    const share = rolling?.maxUnavailable;
    if (share === undefined || share === null) return;
    checkShare(update.at("maxUnavailable"), share);
    if (amountOf(share) === 0) update.at("maxUnavailable").invalid(share, "cannot be 0");
    checkAtMostAll(update.at("maxUnavailable"), share);
  } else {
    const printed = internalForm("apps/v1.StatefulSetUpdateStrategy", strategy, errors);
    here.invalid(printed, "must be 'RollingUpdate' or 'OnDelete'");
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
  if (!spec.podManagementPolicy) errors.at("spec.podManagementPolicy").required();
  else if (!policies.includes(spec.podManagementPolicy)) {
    errors
      .at("spec.podManagementPolicy")
      .invalid(spec.podManagementPolicy, "must be 'OrderedReady' or 'Parallel'");
  }
  checkStrategy(errors, spec);
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  for (const name of ["whenDeleted", "whenScaled"] as const) {
    const policy = retention?.[name] ?? "";
    if (retention && !["Retain", "Delete"].includes(policy)) {
      errors
        .at("spec.persistentVolumeClaimRetentionPolicy")
        .at(name)
        .notSupported(policy, ["Retain", "Delete"]);
    }
  }
  if (old === undefined) {
    (spec.volumeClaimTemplates ?? []).forEach((claim, index) => {
      checkClaimSpec(errors.at("spec.volumeClaimTemplates").index(index).at("spec"), claim.spec);
    });
  }
  errors.at("spec.replicas").notNegative(spec.replicas);
  errors.at("spec.minReadySeconds").notNegative(spec.minReadySeconds);
  errors.at("spec.ordinals.start").notNegative(spec.ordinals?.start);
  if (old === undefined && spec.serviceName) errors.at("spec.serviceName").check(dnsLabel, spec.serviceName);
  const { selector } = spec;
  if (!selector) errors.at("spec.selector").required();
  else {
    checkLabelSelector(errors.at("spec.selector"), selector);
    if (isEmptySelector(selector))
      errors
        .at("spec.selector")
        .invalid(shownSelector(selector), "empty selector is invalid for statefulset");
  }
  if (selects(selector, {}) === undefined) errors.at("spec.selector").invalid(shownSelector(selector), "");
  else {
    if (!selector || !isEmptySelector(selector))
      checkMatch(errors.at("spec.template"), selector, spec.template);
    if (old === undefined || isSound(old, context))
      checkTemplate(errors.at("spec.template"), filledTemplate(spec), context);
    // Upstream looks at the metadata of this template twice.
    checkTemplateMetadata(errors.at("spec.template"), spec.template);
  }
  checkEndless(errors.at("spec.template"), spec.template, "StatefulSet");
}

function isSound(object: StatefulSet, context: ValidationContext): boolean {
  const { features, provenance } = context;
  const errors = new FieldErrors({ release: features.version, provenance });
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
  checkImmutable(errors.at("spec.selector"), selector, old?.selector, () => shownSelector(selector));
  checkImmutable(errors.at("spec.volumeClaimTemplates"), claims, old?.volumeClaimTemplates, () =>
    internalForm("[]core/v1.PersistentVolumeClaim", claims, errors),
  );
  checkImmutable(errors.at("spec.serviceName"), spec?.serviceName ?? "", old?.serviceName ?? "");
  checkImmutable(errors.at("spec.podManagementPolicy"), spec?.podManagementPolicy, old?.podManagementPolicy);
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
    else if (!sameValue(fixedPart(object.spec), fixedPart(old.spec))) errors.at("spec").forbidden(mutable);
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
      {
        parts: ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
        ready: "status.readyReplicas",
      },
    );
    checkObjectUpdate(errors, object, old);
    checkCollisions(errors, object.status, old.status);
  },
};
