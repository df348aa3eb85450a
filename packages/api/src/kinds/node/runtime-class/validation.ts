import { checkImmutable, type FieldErrors, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabels, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { RuntimeClass } from "../../../generated/node/v1.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { checkResources } from "../../core/pod/resources.ts";
import { checkTolerations } from "../../core/pod/scheduling.ts";

function checkRuntime(errors: FieldErrors, object: RuntimeClass): void {
  // Upstream does not check the names of finalizers here.
  checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, false);
  errors.at("handler").checkRequired(dnsLabel, object.handler);
  if (object.overhead) checkResources(errors.at("overhead"), { limits: object.overhead.podFixed ?? {} });
  checkLabels(errors.at("scheduling.nodeSelector"), object.scheduling?.nodeSelector);
  const tolerations = object.scheduling?.tolerations ?? [];
  checkTolerations(errors.at("scheduling.tolerations"), { containers: [], tolerations });
  const repeated = seenBefore();
  tolerations.forEach((toleration, index) => {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    if (repeated(JSON.stringify([key, operator, value, effect]))) {
      errors
        .at("scheduling.tolerations")
        .index(index)
        .duplicate(internalForm("core/v1.Toleration", toleration, errors));
    }
  });
}

export const runtimeClassValidation = {
  create: checkRuntime,
  update(errors: FieldErrors, object: RuntimeClass, old: RuntimeClass): void {
    checkRuntime(errors, object);
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkImmutable(errors.at("handler"), object.handler ?? "", old.handler);
  },
};
