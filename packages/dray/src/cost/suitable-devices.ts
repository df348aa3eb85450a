import { allocatorFeatures, heldCapacity } from "@dray/allocator";
import { type Features, Quantity } from "@dray/api";
import type { RequestedDevices } from "@dray/api/quota";
import type { Device, DeviceRequest } from "@dray/api/resource/v1";
import { allocatorOf, openNodes } from "../inventory/allocator.ts";
import { deviceId, devicesOf } from "../inventory/devices.ts";
import { claimOf } from "../inventory/shapes.ts";
import type { World } from "../manifests/world.ts";

/** A device that suits a request, and the part of it that the request would hold. */
export interface SuitableDevice {
  readonly id: string;
  /** The request can hold several parts of it. */
  readonly isShared: boolean;
  readonly capacity: ReadonlyMap<string, Quantity>;
  /** By `driver/counter`. */
  readonly counters: ReadonlyMap<string, Quantity>;
}

/**
 * The devices of a cluster that suit a request, whoever has them now: all that counts is what a claim with
 * this one request could get of an empty cluster.
 */
export class SuitableDevices {
  readonly #find: (request: RequestedDevices) => readonly (readonly SuitableDevice[])[];
  readonly #known = new Map<string, readonly (readonly SuitableDevice[])[]>();

  constructor(world: World, features: Features) {
    const empty = world.of(world.objects.filter(({ object }) => object.kind !== "ResourceClaim"));
    const allocator = allocatorOf(empty, features);
    const nodes = openNodes(empty);
    const devices = new Map(
      devicesOf(empty, features).map(({ driver, pool, device }) => [
        deviceId(driver, pool, device.name),
        { driver, device },
      ]),
    );
    const forAllocator = allocatorFeatures(features);
    this.#find = ({ adminAccess, body }) => {
      const exactly = {
        ...body,
        allocationMode: "ExactCount",
        count: 1,
        ...(adminAccess && { adminAccess }),
      };
      const requests = [{ name: "device", exactly }] as DeviceRequest[];
      const claim = claimOf({ kind: "DeviceClass", name: "cost", requests, constraints: [] });
      const candidates = allocator.candidates([claim]);
      return nodes
        .filter(({ metadata: { name } }) => candidates?.has(name) ?? true)
        .map((node) =>
          allocator
            .explain(node, [claim], { allDevices: true })
            .claims.flatMap((each) => each.requests)
            .flatMap(({ suitableDevices = [] }) => suitableDevices)
            .flatMap((id): SuitableDevice[] => {
              const found = devices.get(id);
              const capacity = found && heldCapacity(found, body.capacity, forAllocator);
              if (found === undefined || capacity === undefined) return [];
              const isShared =
                forAllocator.consumableCapacity && found.device.allowMultipleAllocations === true;
              return [{ id, isShared, capacity, counters: countersOf(found) }];
            }),
        )
        .filter((found) => found.length > 0);
    };
  }

  /** Returns them by node, of each node that has any. */
  byNode(request: RequestedDevices): readonly (readonly SuitableDevice[])[] {
    const key = JSON.stringify([request.adminAccess, request.body]);
    const found = this.#known.get(key) ?? this.#find(request);
    this.#known.set(key, found);
    return found;
  }
}

/** Counters of partitions are consumed by every allocation of the device (KEP-4815). */
function countersOf({ driver, device }: { readonly driver: string; readonly device: Device }) {
  const sum = new Map<string, Quantity>();
  for (const { counters = {} } of device.consumesCounters ?? [])
    for (const [name, { value }] of Object.entries(counters)) {
      const key = `${driver}/${name}`;
      sum.set(key, (sum.get(key) ?? Quantity.of(0)).add(Quantity.parse(value)));
    }
  return sum;
}
