import { checkConditions } from "../../../checks/conditions.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { PodGroup } from "../../../generated/scheduling/v1beta1.ts";
import { longName } from "../../../values/names.ts";
import {
  checkFixed,
  checkNames,
  checkParent,
  checkPolicy,
  checkReference,
  checkShared,
  isOlder,
  maxClaims,
  type Struct,
} from "../groups.ts";

/** A gang stays a gang, with another minimum perhaps. */
function checkPolicyUpdate(errors: FieldErrors, policy: Struct, old: Struct): void {
  const here = errors.at("spec.schedulingPolicy");
  if (!sameValue(policy["basic"], old["basic"])) here.at("basic").invalid(null, "field is immutable");
  const [isGang, wasGang] = [policy, old].map(({ gang }) => gang !== undefined && gang !== null);
  if (isGang && !wasGang) here.at("gang").invalid(null, "field cannot be set once created");
  if (wasGang && !isGang) here.at("gang").invalid(null, "field cannot be cleared once set");
}

export const podGroupValidation = {
  create(errors: FieldErrors, object: PodGroup, context: ValidationContext): void {
    checkObject(errors, object);
    if (isOlder(context)) return;
    const { spec } = object;
    if (spec?.parentCompositePodGroupName !== undefined && !spec.workloadRef)
      errors.at("spec.workloadRef").required("must be set when parentCompositePodGroupName is set");
    checkParent(errors, spec ?? {});
    checkReference(errors.at("spec.workloadRef"), spec?.workloadRef);
    checkShared(errors.at("spec"), spec ?? {}, "minCount");
  },
  update(errors: FieldErrors, object: PodGroup, old: PodGroup, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    if (isOlder(context)) return;
    checkFixed(errors, object.spec, old.spec, ["parentCompositePodGroupName", "workloadRef"]);
    const policyOf = ({ spec }: PodGroup): Struct => (spec.schedulingPolicy ?? {}) as Struct;
    const policy = policyOf(object);
    checkPolicyUpdate(errors, policy, policyOf(old));
    checkPolicy(errors.at("spec.schedulingPolicy"), policy, "minCount");
    checkFixed(errors, object.spec, old.spec, [
      "schedulingConstraints",
      "resourceClaims",
      "disruptionMode",
      "priorityClassName",
      "priority",
      "preemptionPolicy",
    ]);
  },
  status(errors: FieldErrors, object: PodGroup, old: PodGroup): void {
    checkObjectUpdate(errors, object, old);
    checkConditions(errors.at("status.conditions"), object.status?.conditions);
    const known = new Set((object.spec.resourceClaims ?? []).map(({ name }) => name));
    const here = errors.at("status.resourceClaimStatuses");
    here.items(object.status?.resourceClaimStatuses, maxClaims, (here, status) => {
      if (!known.has(status.name))
        here.at("name").invalid(status.name, "must match the name of an entry in `spec.resourceClaims`");
      if (status.resourceClaimName !== undefined)
        here.at("resourceClaimName").check(longName, status.resourceClaimName);
    });
    checkNames(here, object.status?.resourceClaimStatuses);
  },
};
