import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { PriorityClass } from "../../../generated/scheduling/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";

/** The highest priority of a class that is not Kubernetes' own. */
const maxPriority = 1_000_000_000;
const systemClasses = ["system-node-critical", "system-cluster-critical"];

export const priorityClassValidation = {
  create(errors: FieldErrors, object: PriorityClass): void {
    checkObject(errors, object, dnsSubdomain, false);
    const { name } = object.metadata;
    const value = object.value ?? 0;
    if (name?.startsWith("system-")) {
      if (!systemClasses.includes(name)) {
        errors
          .at("metadata.name")
          .forbidden(
            "priority class names with 'system-' prefix are reserved for system use only. " +
              `error: ${name} is not a known system priority class`,
          );
      }
    } else if (value > maxPriority) {
      errors.at("value").forbidden(`maximum allowed value of a user defined priority is ${maxPriority}`);
    }
    const policies = ["PreemptLowerPriority", "Never"];
    const policy = object.preemptionPolicy;
    if (policy !== undefined && policy !== null) errors.at("preemptionPolicy").oneOf(policy, policies);
  },
  update(errors: FieldErrors, object: PriorityClass, old: PriorityClass): void {
    checkObjectUpdate(errors, object, old);
    if ((object.value ?? 0) !== (old.value ?? 0))
      errors.at("value").forbidden("may not be changed in an update.");
    checkImmutable(errors.at("preemptionPolicy"), object.preemptionPolicy, old.preemptionPolicy);
  },
};
