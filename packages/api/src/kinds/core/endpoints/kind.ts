import { Endpoints } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { endpointsValidation } from "./validation.ts";
import { endpointsAddressWarnings } from "./warnings.ts";

function defaultEndpoints({ subsets }: Endpoints): void {
  for (const subset of subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= "TCP";
}

export const endpoints = defineKind(Endpoints, {
  defaults: defaultEndpoints,
  validation: endpointsValidation,
  warnings: endpointsAddressWarnings,
});
