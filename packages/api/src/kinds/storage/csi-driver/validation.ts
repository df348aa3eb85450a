import { checkImmutable, type FieldErrors, seenBefore } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { CSIDriver } from "../../../generated/storage/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";

const lifecycleModes = ["Persistent", "Ephemeral"];
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];

function checkDriverSpec(errors: FieldErrors, { spec }: CSIDriver): void {
  const policy = spec?.fsGroupPolicy;
  if (policy !== undefined && policy !== null && !groupPolicies.includes(policy)) {
    errors.at("spec.fsGroupPolicy").notSupported(policy, groupPolicies);
  }
  const requests = spec?.tokenRequests ?? [];
  const repeated = seenBefore();
  requests.forEach(({ audience = "", expirationSeconds: seconds }, index) => {
    const here = errors.at("spec.tokenRequests").index(index);
    if (repeated(audience)) {
      here.at("audience").duplicate(audience);
      return;
    }
    if (seconds === undefined || seconds === null) return;
    const expiration = here.at("expirationSeconds");
    if (seconds < 600) expiration.invalid(seconds, "may not specify a duration less than 10 minutes");
    if (seconds > 2 ** 32) expiration.invalid(seconds, "may not specify a duration larger than 2^32 seconds");
  });
  for (const mode of spec?.volumeLifecycleModes ?? []) {
    if (!lifecycleModes.includes(mode))
      errors.at("spec.volumeLifecycleModes").notSupported(mode, lifecycleModes);
  }
  const period = spec?.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period !== null && period < 10) {
    const detail = "must be greater than or equal to 10 seconds";
    errors.at("spec.nodeAllocatableUpdatePeriodSeconds").invalid(period, detail);
  }
  const secrets = spec?.serviceAccountTokenInSecrets;
  if (secrets !== undefined && secrets !== null && requests.length === 0) {
    const detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
    errors.at("spec.serviceAccountTokenInSecrets").invalid(secrets, detail);
  }
}

export const csiDriverValidation = {
  create(errors: FieldErrors, object: CSIDriver): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkDriverSpec(errors, object);
  },
  update(errors: FieldErrors, object: CSIDriver, old: CSIDriver): void {
    checkObjectUpdate(errors, object, old);
    checkDriverSpec(errors, object);
    // Upstream misspells this one path.
    checkImmutable(errors.at("spec.attachedRequired"), object.spec?.attachRequired, old.spec?.attachRequired);
    const modes = object.spec?.volumeLifecycleModes;
    checkImmutable(errors.at("spec.volumeLifecycleModes"), modes, old.spec?.volumeLifecycleModes);
  },
};
