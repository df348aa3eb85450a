import { ServiceCIDR } from "../../../generated/networking/v1.ts";
import { defineKind } from "../../define.ts";
import { serviceCIDRValidation } from "./validation.ts";

export const serviceCIDR = defineKind(ServiceCIDR, {
  validation: serviceCIDRValidation,
});
