import type { Draft } from "@dray/api";
import type { DeviceClass, ResourceSlice } from "@dray/api/resource/v1";
import { poolSlices } from "@dray/driver";
import type { Fleet, FleetDriver } from "../fleet/fleet.ts";
import { publishedPool } from "./driver.ts";

/** The objects of a cluster with a fleet, while all of its devices are healthy. */
export interface FleetObjects {
  readonly deviceClasses: readonly Draft<DeviceClass>[];
  readonly slices: readonly Draft<ResourceSlice>[];
}

/** Returns what the drivers of a fleet publish on these nodes and on the network, and the classes. */
export function fleetObjects(fleet: Fleet, nodes: readonly string[]): FleetObjects {
  const ofNodes = nodes.flatMap((nodeName) =>
    (fleet.node(nodeName)?.drivers ?? []).flatMap((driver) => slicesOf(driver, { nodeName })),
  );
  const ofNetwork = fleet.network.flatMap((driver) => slicesOf(driver, {}));
  return { deviceClasses: fleet.deviceClasses, slices: [...ofNodes, ...ofNetwork] };
}

const healthy = { of: () => ({ health: "Healthy" }) as const };

function slicesOf(
  { name, pools }: FleetDriver,
  scope: { readonly nodeName: string } | object,
): Draft<ResourceSlice>[] {
  // A pool with a reach of its own belongs to no node, though a driver on each node serves it.
  const own = pools.filter(({ reach }) => (reach === undefined) === "nodeName" in scope);
  return own.flatMap((pool) =>
    poolSlices(name, publishedPool(pool, healthy), scope).map(({ generateName, spec }) => ({
      metadata: { name: `${generateName}${pool.name}` },
      spec,
    })),
  );
}
