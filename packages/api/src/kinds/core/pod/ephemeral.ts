import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, goJson, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkMetadataUpdate } from "../../../checks/metadata.ts";
import { unifiedDiff } from "../../../checks/unified-diff.ts";
import type { EphemeralContainer, Pod } from "../../../generated/core/v1.ts";
import { checkPodAnnotationsUpdate, mirrorAnnotation } from "./annotations.ts";
import { checkPod } from "./validation.ts";

function printed(errors: FieldErrors, container: EphemeralContainer): string {
  return goJson(internalForm("core/v1.EphemeralContainer", container, errors), 1);
}

/** A write of `pods/ephemeralcontainers`: containers may be added and stay as they are (KEP-277). */
export function checkEphemeralContainers(
  errors: FieldErrors,
  pod: Pod,
  old: Pod,
  context: ValidationContext,
): void {
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined) {
    errors.key("").forbidden("static pods do not support ephemeral containers");
    return;
  }
  checkMetadataUpdate(errors.at("metadata"), pod.metadata, old.metadata);
  checkPod(errors, pod, context);
  checkPodAnnotationsUpdate(errors.at("metadata.annotations"), pod, old);
  const now = new Map((pod.spec?.ephemeralContainers ?? []).map((container) => [container.name, container]));
  for (const container of old.spec?.ephemeralContainers ?? []) {
    const kept = now.get(container.name);
    const name = JSON.stringify(container.name);
    if (kept === undefined) {
      errors
        .at("spec.ephemeralContainers")
        .forbidden(`existing ephemeral containers ${name} may not be removed\n`);
    } else if (!sameValue(kept, container)) {
      const difference = unifiedDiff(printed(errors, container), printed(errors, kept));
      errors
        .at("spec.ephemeralContainers")
        .forbidden(`existing ephemeral containers ${name} may not be changed\n${difference}`);
    }
  }
}
