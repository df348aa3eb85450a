import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { IngressClass } from "../../../generated/networking/v1.ts";
import { byteLength, dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { checkDomainPath } from "../../resource/names.ts";
import { checkReference } from "../common.ts";

const maxControllerLength = 250;
const scopes = ["Cluster", "Namespace"];

function checkClassSpec(errors: FieldErrors, { spec }: IngressClass): void {
  const controller = spec?.controller ?? "";
  if (byteLength(controller) > maxControllerLength) errors.tooLong("spec.controller", maxControllerLength);
  checkDomainPath(errors, "spec.controller", controller);
  const parameters = spec?.parameters;
  if (!parameters) return;
  const path = "spec.parameters";
  checkReference(errors, path, parameters);
  const { scope, namespace } = parameters;
  if (scope === undefined || scope === null) {
    errors.required(`${path}.scope`);
    return;
  }
  const given = namespace !== undefined && namespace !== null;
  if (!scopes.includes(scope)) errors.notSupported(`${path}.scope`, scope, scopes);
  else if (scope === "Namespace") {
    if (!given) errors.required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'");
    else errors.check(dnsLabel, `${path}.namespace`, namespace);
  } else if (given) errors.forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'");
}

function checkClass(errors: FieldErrors, object: IngressClass): void {
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", object.metadata);
  checkClassSpec(errors, object);
}

export const ingressClassValidation = {
  create: checkClass,
  update(errors: FieldErrors, object: IngressClass, old: IngressClass, context: ValidationContext): void {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", object.metadata);
    const shown = (): unknown =>
      internalForm("string", object.spec?.controller ?? "", context.features.version);
    checkImmutable(errors, "spec.controller", object.spec?.controller, old.spec?.controller, shown);
    checkClass(errors, object);
  },
};
