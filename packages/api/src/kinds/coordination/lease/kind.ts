import type { FieldErrors } from "../../../checks/field.ts";
import { checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { Lease } from "../../../generated/coordination/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { defineKind } from "../../define.ts";

function checkLeaseSpec(errors: FieldErrors, { spec }: Lease): void {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec ?? {};
  if (seconds !== undefined && seconds <= 0)
    errors.at("spec.leaseDurationSeconds").invalid(seconds, "must be greater than 0");
  if (transitions !== undefined && transitions < 0) {
    errors.at("spec.leaseTransitions").invalid(transitions, "must be greater than or equal to 0");
  }
}

const leaseValidation = {
  /** Upstream: pkg/apis/coordination/validation/validation.go; the names of finalizers are not checked. */
  create(errors: FieldErrors, object: Lease): void {
    checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, true);
    checkLeaseSpec(errors, object);
  },
  update(errors: FieldErrors, object: Lease, old: Lease): void {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkLeaseSpec(errors, object);
  },
};

export const lease = defineKind(Lease, {
  validation: leaseValidation,
});
