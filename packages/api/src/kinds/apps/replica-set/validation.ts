import type { ValidationContext } from "../../../checks/context.ts";
import { checkCounts } from "../../../checks/counts.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { ReplicaSet } from "../../../generated/apps/v1.ts";
import { checkReplicaSpec, checkSelectorKept } from "../replicas.ts";

function checkReplicaSetSpec(errors: FieldErrors, { spec }: ReplicaSet, context: ValidationContext): void {
  errors.at("spec.replicas").notNegative(spec?.replicas);
  errors.at("spec.minReadySeconds").notNegative(spec?.minReadySeconds);
  checkReplicaSpec(errors, spec, context);
}

export const replicaSetValidation = {
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
      { parts: ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] },
    );
  },
};
