import { IngressClass } from "../../../generated/networking/v1.ts";
import { defineKind } from "../../define.ts";
import { ingressClassValidation } from "./validation.ts";

function defaultIngressClass({ spec }: IngressClass): void {
  if (spec?.parameters) spec.parameters.scope ??= "Cluster";
}

export const ingressClass = defineKind(IngressClass, {
  defaults: defaultIngressClass,
  validation: ingressClassValidation,
});
