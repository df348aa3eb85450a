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
  if (byteLength(controller) > maxControllerLength) errors.at("spec.controller").tooLong(maxControllerLength);
  checkDomainPath(errors.at("spec.controller"), controller);
  const parameters = spec?.parameters;
  if (!parameters) return;
  const here = errors.at("spec.parameters");
  checkReference(here, parameters);
  const { scope, namespace } = parameters;
  if (scope === undefined || scope === null) {
    here.at("scope").required();
    return;
  }
  const given = namespace !== undefined && namespace !== null;
  if (!scopes.includes(scope)) here.at("scope").notSupported(scope, scopes);
  else if (scope === "Namespace") {
    if (!given) here.at("namespace").required("`parameters.scope` is set to 'Namespace'");
    else here.at("namespace").check(dnsLabel, namespace);
  } else if (given) here.at("namespace").forbidden("`parameters.scope` is set to 'Cluster'");
}

function checkClass(errors: FieldErrors, object: IngressClass): void {
  checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), object.metadata);
  checkClassSpec(errors, object);
}

export const ingressClassValidation = {
  create: checkClass,
  update(errors: FieldErrors, object: IngressClass, old: IngressClass): void {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), object.metadata);
    const shown = (): unknown => internalForm("string", object.spec?.controller ?? "", errors);
    checkImmutable(errors.at("spec.controller"), object.spec?.controller, old.spec?.controller, shown);
    checkClass(errors, object);
  },
};
