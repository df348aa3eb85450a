import { IPAddress } from "../../../generated/networking/v1.ts";
import { defineKind } from "../../define.ts";
import { ipAddressValidation } from "./validation.ts";

export const ipAddress = defineKind(IPAddress, {
  validation: ipAddressValidation,
});
