import { checkConditions } from "../../../checks/conditions.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { CompositePodGroup } from "../../../generated/scheduling/v1alpha3.ts";
import type { PodGroup } from "../../../generated/scheduling/v1beta1.ts";
import { checkFixed, checkParent, checkReference, checkShared } from "../groups.ts";

type Group = PodGroup | CompositePodGroup;

export const compositePodGroupValidation = {
  create(errors: FieldErrors, object: CompositePodGroup): void {
    checkObject(errors, object);
    const { spec } = object;
    checkParent(errors, spec ?? {});
    if (!spec?.workloadRef) errors.at("spec.workloadRef").required();
    checkReference(errors.at("spec.workloadRef"), spec?.workloadRef);
    checkShared(errors.at("spec"), spec ?? {}, "minGroupCount");
  },
  update(errors: FieldErrors, object: CompositePodGroup, old: CompositePodGroup): void {
    checkObjectUpdate(errors, object, old);
    checkFixed(errors, object.spec, old.spec, [
      "parentCompositePodGroupName",
      "workloadRef",
      "schedulingPolicy",
      "schedulingConstraints",
      "disruptionMode",
      "priorityClassName",
      "priority",
      "preemptionPolicy",
    ]);
  },
  status(errors: FieldErrors, object: Group, old: Group): void {
    checkObjectUpdate(errors, object, old);
    checkConditions(errors.at("status.conditions"), object.status?.conditions);
  },
};
