import type { Client, Clock, Log } from "@dray/client";
import { NodePools } from "@dray/driver";
import type { Fleet, FleetDriver } from "../fleet/fleet.ts";
import { publishedPool } from "./driver.ts";
import { DeviceHealths, type DeviceRef, type HealthRecords } from "./health.ts";

export interface PublishNodesOptions {
  readonly fleet: Fleet;
  readonly nodes: readonly string[];
  readonly records: HealthRecords;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The UID of a Node; undefined while it is not there. */
  nodeUid(node: string): string | undefined;
  /** Calls `appeared` for each Node that is there or comes. */
  onNode(appeared: (node: string) => void): void;
}

/** A driver on a node. */
interface Place {
  readonly node: string;
  readonly driver: FleetDriver;
  readonly healths: DeviceHealths;
}

/**
 * Publishes the devices of nodes that run no drivers, since they are simulated as a whole: what the drivers
 * would publish, with the taints of devices that are unhealthy. Resolves when the signal has aborted.
 */
export async function publishNodes(options: PublishNodesOptions): Promise<void> {
  const { fleet, nodes, records, client, clock, log, signal, nodeUid, onNode } = options;
  const published = new NodePools({ client, clock, log, nodeUid });
  const places = nodes.flatMap((node) =>
    (fleet.node(node)?.drivers ?? []).flatMap((driver): Place[] => {
      const pools = driver.pools.filter(({ reach }) => reach === undefined);
      if (pools.length === 0) return [];
      const healths = new DeviceHealths({ driver: driver.name, pools, records, clock });
      return [{ node, driver: { ...driver, pools }, healths }];
    }),
  );
  const publish = ({ node, driver, healths }: Place): void =>
    published.publish(
      driver.name,
      node,
      driver.pools.map((pool) => publishedPool(pool, healths)),
    );
  const byPool = new Map(
    places.flatMap((place) =>
      place.driver.pools.map(
        ({ name }) => [poolKey({ driver: place.driver.name, pool: name }), place] as const,
      ),
    ),
  );
  const forget = records.onChange((ref) => {
    const place = ref && byPool.get(poolKey(ref));
    if (place !== undefined) publish(place);
  });
  onNode((node) => {
    for (const { name } of fleet.node(node)?.drivers ?? []) published.nodeAppeared(name, node);
  });
  for (const place of places) publish(place);
  try {
    await Promise.all([published.run(signal), ...places.filter(isScheduled).map(follow)]);
  } finally {
    forget();
  }

  async function follow(place: Place): Promise<void> {
    for await (const _ of place.healths.changes(signal)) publish(place);
  }
}

/** Reports whether the health of a device changes by the file's schedule. */
function isScheduled({ driver }: Place): boolean {
  return driver.pools.some(({ devices }) => devices.some(({ behaviour }) => behaviour.health.length > 0));
}

const poolKey = ({ driver, pool }: Pick<DeviceRef, "driver" | "pool">): string =>
  JSON.stringify([driver, pool]);
