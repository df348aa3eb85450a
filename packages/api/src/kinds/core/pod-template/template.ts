/** Checks of the pod template in the kinds that create pods. */

import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, printedMap } from "../../../checks/field.ts";
import { checkAnnotations, checkLabels } from "../../../checks/metadata.ts";
import { selects } from "../../../checks/shown-selectors.ts";
import type { PodTemplateSpec } from "../../../generated/core/v1.ts";
import type { LabelSelector } from "../../../generated/meta/v1.ts";
import { checkPodAnnotations } from "../pod/annotations.ts";
import { checkPodSpec } from "../pod/spec.ts";

/** Labels and annotations of a template of pods; upstream's paths leave the metadata out. */
export function checkTemplateMetadata(errors: FieldErrors, template: PodTemplateSpec | undefined): void {
  const { labels, annotations } = template?.metadata ?? {};
  checkLabels(errors.at("labels"), labels);
  checkAnnotations(errors.at("annotations"), annotations);
  checkPodAnnotations(errors.at("annotations"), annotations, template?.spec ?? { containers: [] });
}

/** A template of pods, wherever it stands. */
export function checkTemplate(
  errors: FieldErrors,
  template: PodTemplateSpec | undefined,
  context: ValidationContext,
): void {
  checkTemplateMetadata(errors, template);
  checkPodSpec(errors.at("spec"), template?.spec ?? { containers: [] }, context);
  if ((template?.spec?.ephemeralContainers ?? []).length > 0) {
    errors.at("spec.ephemeralContainers").forbidden("ephemeral containers not allowed in pod template");
  }
}

/** Pods of a controller run until they are deleted. */
export function checkEndless(errors: FieldErrors, template: PodTemplateSpec | undefined, kind: string): void {
  const restart = template?.spec?.restartPolicy ?? "";
  if (restart !== "Always") errors.at("spec.restartPolicy").notSupported(restart, ["Always"]);
  const seconds = template?.spec?.activeDeadlineSeconds;
  if (seconds === undefined || seconds === null) return;
  const detail = `activeDeadlineSeconds in ${kind} is not Supported`;
  errors.at("spec.activeDeadlineSeconds").forbidden(detail);
}

export function checkMatch(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
): void {
  const labels = template?.metadata?.labels;
  if (selects(selector, labels) !== false) return;
  errors
    .at("metadata.labels")
    .invalid(printedMap(errors, template?.metadata, "labels"), "`selector` does not match template `labels`");
}
