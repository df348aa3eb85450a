import type { Pod, PodResourceClaim } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { idOf, isRepelling, resultsOf, taintText } from "../inventory/devices.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import { stateOfClaim } from "../top/rows.ts";
import { bodyOf } from "./changes/claim-edits.ts";
import type { AllocatedDevice, ClaimData, ConfigurationData, PreparedData } from "./data.ts";
import { conditionsOf } from "./waits.ts";

/** Returns the devices of a claim and their preparation. */
export function claimData(
  claim: ResourceClaim,
  inventory: Inventory,
  user?: { readonly pod: Pod; readonly entry: PodResourceClaim | undefined },
): ClaimData {
  const podClaim = user?.entry?.name ?? null;
  return {
    claim: nameOf(claim),
    podClaim,
    template: user?.entry?.resourceClaimTemplateName ?? null,
    state: stateOfClaim(claim),
    reservedFor: (claim.status?.reservedFor ?? []).map(
      ({ resource, name }) => `${resource}/${claim.metadata.namespace}/${name}`,
    ),
    devices: resultsOf(claim).map((result) => allocatedDevice(claim, result, inventory)),
    configuration: configurationOf(claim),
    prepared: user?.entry === undefined ? [] : preparedFor(user.pod, user.entry.name),
  };
}

/** Returns the kubelet's report about a claim of the pod. */
function preparedFor({ status }: Pod, podClaim: string): PreparedData[] {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.flatMap(({ name: container, allocatedResourcesStatus = [] }) =>
    allocatedResourcesStatus.flatMap(({ name, resources = [] }): PreparedData[] => {
      const [claim, request = null] = name.replace(/^claim:/, "").split("/");
      if (!name.startsWith("claim:") || claim !== podClaim) return [];
      return resources.map(({ resourceID, health = "Unknown", message }) => ({
        container,
        request,
        resource: resourceID,
        health,
        message: message || null,
      }));
    }),
  );
}

function allocatedDevice(
  claim: ResourceClaim,
  result: ReturnType<typeof resultsOf>[number],
  { known }: Inventory,
): AllocatedDevice {
  const { request, adminAccess, shareID, consumedCapacity } = result;
  const device = known.get(idOf(result));
  return {
    device: idOf(result),
    node: device?.node ?? null,
    isPublished: device !== undefined,
    request,
    alternative: alternativeOf(claim, request),
    deviceClass: bodyOf(claim, request)?.deviceClassName ?? null,
    adminAccess: adminAccess === true,
    shareID: shareID ?? null,
    consumedCapacity: consumedCapacity ?? null,
    health: device?.health?.health ?? null,
    taints: (device?.taints ?? []).filter(isRepelling).map(taintText),
    conditions: conditionsOf(claim, result).map(({ type, status, reason, message }) => ({
      type,
      status: status ?? "Unknown",
      reason: reason ?? "",
      message: message ?? "",
    })),
    network: networkOf(claim, result),
    data: statusOf(claim, result)?.data ?? null,
  };
}

function alternativeOf(claim: ResourceClaim, name: string): AllocatedDevice["alternative"] {
  const [request, alternative] = name.split("/");
  if (alternative === undefined) return null;
  const list = claim.spec.devices?.requests?.find((each) => each.name === request)?.firstAvailable ?? [];
  const rank = list.findIndex((each) => each.name === alternative) + 1;
  return { name: alternative, rank, of: list.length };
}

function statusOf(claim: ResourceClaim, result: ReturnType<typeof resultsOf>[number]) {
  return claim.status?.devices?.find(
    ({ driver, pool, device, shareID }) =>
      driver === result.driver &&
      pool === result.pool &&
      device === result.device &&
      shareID === result.shareID,
  );
}

function networkOf(claim: ResourceClaim, result: ReturnType<typeof resultsOf>[number]): string | null {
  const data = statusOf(claim, result)?.networkData;
  if (data === undefined) return null;
  const parts = [data.interfaceName, ...(data.ips ?? []), data.hardwareAddress];
  return parts.filter((part) => part).join(" ");
}

function configurationOf(claim: ResourceClaim): ConfigurationData[] {
  const allocation = claim.status?.allocation?.devices?.config;
  const config =
    allocation ?? (claim.spec.devices?.config ?? []).map((each) => ({ source: "FromClaim", ...each }));
  return config.flatMap(({ source, requests = [], opaque }) =>
    opaque === undefined ? [] : [{ source, requests, driver: opaque.driver, parameters: opaque.parameters }],
  );
}
