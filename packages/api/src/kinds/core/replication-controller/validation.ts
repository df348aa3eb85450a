import type { ValidationContext } from "../../../checks/context.ts";
import { checkCounts } from "../../../checks/counts.ts";
import { type FieldErrors, printedMap } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata } from "../../../checks/metadata.ts";
import { checkObjectUpdate } from "../../../checks/objects.ts";
import type { ReplicationController } from "../../../generated/core/v1.ts";
import { longName } from "../../../values/names.ts";
import { checkEndless, checkTemplate } from "../pod-template/template.ts";

function checkSpec(errors: FieldErrors, { spec }: ReplicationController, context: ValidationContext): void {
  errors.at("spec.minReadySeconds").notNegative(spec?.minReadySeconds);
  const selector = spec?.selector ?? {};
  const empty = Object.keys(selector).length === 0;
  if (empty) errors.at("spec.selector").required();
  errors.at("spec.replicas").notNegative(spec?.replicas);
  if (!spec?.template) {
    errors.at("spec.template").required();
    return;
  }
  // This selector may have any values: it is not looked at, but must be that of the template.
  const labels = spec.template.metadata?.labels ?? {};
  if (Object.entries(selector).some(([key, value]) => labels[key] !== value)) {
    const detail = "`selector` does not match template `labels`";
    errors
      .at("spec.template.metadata.labels")
      .invalid(printedMap(errors, spec.template.metadata, "labels"), detail);
  }
  checkTemplate(errors.at("spec.template"), spec.template, context);
  checkEndless(errors.at("spec.template"), spec.template, "ReplicationController");
}

export const replicationControllerValidation = {
  create(errors: FieldErrors, object: ReplicationController, context: ValidationContext): void {
    // Upstream: pkg/apis/core/validation/validation.go, ValidateReplicationController: only the name is
    // checked.
    checkMetadata(errors.at("metadata"), { ...object.metadata, generateName: "" }, longName, true);
    checkFinalizerNames(errors.at("metadata"), object.metadata);
    checkSpec(errors, object, context);
  },
  update(
    errors: FieldErrors,
    object: ReplicationController,
    old: ReplicationController,
    context: ValidationContext,
  ): void {
    checkObjectUpdate(errors, object, old);
    checkSpec(errors, object, context);
  },
  status(errors: FieldErrors, object: ReplicationController, old: ReplicationController): void {
    checkObjectUpdate(errors, object, old);
    checkCounts(
      errors,
      object.status,
      ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"],
      { parts: ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] },
    );
  },
};
