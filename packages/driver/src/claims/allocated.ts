import type { DeviceAllocationConfiguration, ResourceClaim } from "@dray/api/resource/v1";
import type { AllocatedClaim, DeviceConfig } from "../types/driver.ts";

/** The request of a result without the part that names a subrequest: `gpu/large` is of request `gpu`. */
export function baseRequest(request: string): string {
  return request.split("/")[0]!;
}

/** The part of a claim's allocation for `driver`. The claim must be allocated. */
export function allocatedClaim(claim: ResourceClaim, driver: string): AllocatedClaim {
  const { results = [], config = [] } = claim.status?.allocation?.devices ?? {};
  const { uid, namespace, name } = claim.metadata;
  return {
    claim,
    uid,
    namespace,
    name,
    devices: results
      .filter((result) => result.driver === driver)
      .map((result) => ({ result, configs: configsOf(config, driver, result.request) })),
  };
}

/**
 * The class's before the claim's, each in the order of the allocation (KEP-4381, allocation.devices.config).
 */
function configsOf(
  all: readonly DeviceAllocationConfiguration[],
  driver: string,
  request: string,
): DeviceConfig[] {
  const applying = all.flatMap(({ source, opaque, requests = [] }) => {
    const applies =
      requests.length === 0 || requests.includes(request) || requests.includes(baseRequest(request));
    return opaque?.driver === driver && applies ? [{ source, parameters: opaque.parameters }] : [];
  });
  return (["FromClass", "FromClaim"] as const).flatMap((source) =>
    applying.filter((config) => config.source === source).map(({ parameters }) => ({ source, parameters })),
  );
}
