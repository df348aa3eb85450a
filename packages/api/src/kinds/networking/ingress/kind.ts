import { statusAddressWarnings } from "../../../checks/warnings/addresses.ts";
import { Ingress } from "../../../generated/networking/v1.ts";
import { defineKind } from "../../define.ts";
import { ingressValidation } from "./validation.ts";

export const ingress = defineKind(Ingress, {
  validation: ingressValidation,
  warnings: (ingress, old) =>
    old === undefined &&
    !ingress.spec?.ingressClassName &&
    Object.hasOwn(ingress.metadata.annotations ?? {}, "kubernetes.io/ingress.class")
      ? [`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  statusWarnings: statusAddressWarnings,
});
