import { EndpointSlice } from "../../../generated/discovery/v1.ts";
import { defineKind } from "../../define.ts";
import { endpointSliceValidation } from "./validation.ts";
import { sliceAddressWarnings } from "./warnings.ts";

function defaultEndpointSlice(slice: EndpointSlice): void {
  for (const port of slice.ports ?? []) {
    port.name ??= "";
    port.protocol ??= "TCP";
  }
}

export const endpointSlice = defineKind(EndpointSlice, {
  defaults: defaultEndpointSlice,
  validation: endpointSliceValidation,
  warnings: (slice, old) => [
    ...(old === undefined && slice.addressType === "FQDN"
      ? ["spec.addressType: FQDN endpoints are deprecated"]
      : []),
    ...sliceAddressWarnings(slice),
  ],
});
