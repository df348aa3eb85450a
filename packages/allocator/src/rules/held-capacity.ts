import { Quantity } from "@dray/api";
import type { CapacityRequirements, Device } from "@dray/api/resource/v1";
import type { Features } from "../features/features.ts";
import { policiesOf } from "../features/policies.ts";
import { capacityDemand } from "./consumable-capacity.ts";

/**
 * Returns the capacity of a device that a request with these requirements holds: all of it, or, of a device
 * that several claims can share, what the request consumes, rounded by the policies of its capacities
 * (KEP-5075). Returns undefined if the device cannot serve the request.
 */
export function heldCapacity(
  device: { readonly driver: string; readonly device: Device },
  requirements: CapacityRequirements | undefined,
  features: Features,
): ReadonlyMap<string, Quantity> | undefined {
  const isShared = features.consumableCapacity && device.device.allowMultipleAllocations === true;
  const demand = capacityDemand(device, features.consumableCapacity ? requirements : undefined, {
    features,
    policies: policiesOf(features),
  });
  if (demand.type !== "consumes") return undefined;
  if (isShared) return new Map(demand.parts.map(({ key, consumed }) => [key, consumed]));
  const all = Object.entries(device.device.capacity ?? {});
  return new Map(all.map(([key, { value }]) => [key, Quantity.parse(value)]));
}
