import type { Container, Pod, ResourceHealth, ResourceStatus } from "@dray/api/core/v1";
import { claimsIfCreated, isForRequest } from "./claim-names.ts";
import type { ClaimCache } from "./claims.ts";
import type { DeviceHealth, DeviceName } from "./health.ts";

/**
 * Health of the devices of a container's claims for `allocatedResourcesStatus`; empty for a claim that is not
 * prepared here. Devices with the same ID are listed once.
 *
 * Upstream: pkg/kubelet/cm/dra/manager.go, UpdateAllocatedResourcesStatus.
 */
export function resourceStatuses(
  pod: Pod,
  container: Container,
  claims: ClaimCache,
  healthOf: (driver: string, device: DeviceName) => DeviceHealth,
): ResourceStatus[] {
  const statuses = new Map<string, ResourceStatus>();
  // Claims of extended resources have no entry, as upstream.
  for (const { podClaim, name, request } of claimsIfCreated(pod, container)) {
    const info = claims.get(pod.metadata.namespace, name);
    if (podClaim === "" || info === undefined || !info.podUIDs.has(pod.metadata.uid)) continue;
    const resources = new Map<string, ResourceHealth>();
    for (const [driver, devices] of [...info.devices].sort(([a], [b]) => (a < b ? -1 : 1)))
      for (const { PoolName: pool, DeviceName: device, RequestNames, CDIDeviceIDs } of devices ?? []) {
        if (!isForRequest(RequestNames, request)) continue;
        const resourceID = CDIDeviceIDs?.[0] ?? `${driver}/${pool}/${device}`;
        if (resources.has(resourceID)) continue;
        const { health, message } = healthOf(driver, { pool, device });
        resources.set(resourceID, {
          resourceID,
          health,
          ...(message !== "" ? { message } : {}),
        });
      }
    const status = request === undefined ? `claim:${podClaim}` : `claim:${podClaim}/${request}`;
    if (resources.size > 0) statuses.set(status, { name: status, resources: [...resources.values()] });
  }
  return [...statuses.values()];
}
