import { addressWarnings } from "../../../checks/address.ts";
import type { Endpoints } from "../../../generated/core/v1.ts";

/** Upstream: pkg/registry/core/endpoint/strategy.go, endpointsWarnings. */
export function endpointsAddressWarnings({ metadata, subsets }: Endpoints): string[] {
  if (metadata.labels?.["endpoints.kubernetes.io/managed-by"] === "endpoint-controller") return [];
  return (subsets ?? []).flatMap((subset, i) =>
    (["addresses", "notReadyAddresses"] as const).flatMap((name) =>
      (subset[name] ?? []).flatMap(({ ip = "" }, j) => addressWarnings(`subsets[${i}].${name}[${j}].ip`, ip)),
    ),
  );
}
