import type { ResourceClaim } from "@dray/api/resource/v1";
import { idOf, isRepelling, resultsOf, taintText } from "../inventory/devices.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import { stateOfClaim } from "../top/rows.ts";
import { bodyOf } from "./claim-edits.ts";
import type { AllocatedDevice, ClaimData, ConfigurationData } from "./data.ts";
import { conditionsOf } from "./waits.ts";

/** What a claim has, and how it was prepared. */
export function claimData(
  claim: ResourceClaim,
  inventory: Inventory,
  { podClaim = null, template = null }: Partial<Pick<ClaimData, "podClaim" | "template">> = {},
): ClaimData {
  return {
    claim: nameOf(claim),
    podClaim,
    template,
    state: stateOfClaim(claim),
    reservedFor: (claim.status?.reservedFor ?? []).map(
      ({ resource, name }) => `${resource}/${claim.metadata.namespace}/${name}`,
    ),
    devices: resultsOf(claim).map((result) => allocatedDevice(claim, result, inventory)),
    configuration: configurationOf(claim),
  };
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
  };
}

function alternativeOf(claim: ResourceClaim, name: string): AllocatedDevice["alternative"] {
  const [request, alternative] = name.split("/");
  if (alternative === undefined) return null;
  const list = claim.spec.devices?.requests?.find((each) => each.name === request)?.firstAvailable ?? [];
  const rank = list.findIndex((each) => each.name === alternative) + 1;
  return { name: alternative, rank, of: list.length };
}

function networkOf(claim: ResourceClaim, result: ReturnType<typeof resultsOf>[number]): string | null {
  const data = claim.status?.devices?.find(
    ({ driver, pool, device, shareID }) =>
      driver === result.driver &&
      pool === result.pool &&
      device === result.device &&
      shareID === result.shareID,
  )?.networkData;
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
