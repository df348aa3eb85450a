import type { FieldErrors } from "../../checks/field.ts";
import type { MatchResources } from "../../generated/admissionregistration/v1.ts";

/** A policy that mutates is not asked about deletions. */
const mutatedOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

export function checkMutated(errors: FieldErrors, match: MatchResources | undefined): void {
  for (const operation of (match?.resourceRules ?? []).flatMap((rule) => rule.operations ?? [])) {
    if (!mutatedOperations.includes(operation))
      errors.at("resourceRules.operations").notSupported(operation, mutatedOperations);
  }
}
