import { addressWarnings } from "../../../checks/address.ts";
import type { EndpointSlice } from "../../../generated/discovery/v1.ts";

/** Controllers that mend what they copy. */
const sliceControllers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/** Upstream: pkg/registry/discovery/endpointslice/strategy.go, warnOnBadIPs. */
export function sliceAddressWarnings({ metadata, endpoints }: EndpointSlice): string[] {
  if (sliceControllers.includes(metadata.labels?.["endpointslice.kubernetes.io/managed-by"] ?? "")) return [];
  return (endpoints ?? []).flatMap(({ addresses }, i) =>
    (addresses ?? []).flatMap((address, j) => addressWarnings(`endpoints[${i}].addresses[${j}]`, address)),
  );
}
