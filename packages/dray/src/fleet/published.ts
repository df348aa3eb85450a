import { ResourceSlice } from "@dray/api/resource/v1";
import { contextName, type Layout, namesText, ProgressDeadline } from "@dray/cluster";
import type { Fleet } from "@dray/driver-simulated";
import { connect } from "../connection/connect.ts";
import { commandText } from "../options/target.ts";
import { withProgress } from "../terminal/progress.ts";

/** Milliseconds that the next pool may take. */
const timeout = 60_000;

/**
 * Resolves when the pools of the fleet that these nodes can reach are published. Rejects if the next one
 * takes too long.
 */
export async function fleetPublished(
  layout: Layout,
  clusterName: string,
  fleet: Fleet,
  nodes: readonly string[],
): Promise<void> {
  const flags = { kubeconfig: layout.kubeconfig, context: contextName(clusterName) };
  const { client } = await connect(flags, "dray-up");
  const stop = new AbortController();
  const wanted = new Map<string, number>();
  for (const { name, pools } of [
    ...nodes.flatMap((node) => fleet.node(node)?.drivers ?? []),
    ...fleet.network,
  ])
    for (const pool of pools) wanted.set(`${name} ${pool.name}`, pool.devices.length);
  const slices = client.informer(ResourceSlice, {
    indexes: { pool: ({ spec }) => [`${spec.driver} ${spec.pool.name}`] },
  });
  const waiting = (): string[] =>
    [...wanted]
      .filter(([pool, devices]) => deviceCount(slices.byIndex("pool", pool)) !== devices)
      .map(([pool]) => pool);
  const deadline = new ProgressDeadline({
    timeout,
    failure: () =>
      new Error(
        `of the fleet the pools ${namesText(waiting())} were not published within ${timeout / 1000} s: see ${commandText(layout, "logs", "drivers")}`,
      ),
  });
  try {
    await withProgress("Waiting for the devices of the fleet", async ({ update }) => {
      let missing = Number.POSITIVE_INFINITY;
      const look = (): void => {
        const now = waiting().length;
        if (now < missing) deadline.advance();
        missing = now;
        update(
          `Waiting for the devices of the fleet: ${wanted.size - now} of ${wanted.size} pools are published`,
        );
      };
      const all = async (): Promise<void> => {
        await slices.start(stop.signal);
        slices.handle({ add: look, update: look });
        await slices.until(() => waiting().length === 0);
      };
      await Promise.race([all(), deadline.exceeded]);
    });
  } finally {
    deadline.stop();
    stop.abort();
    client.close();
  }
}

/** Returns the devices of the newest generation of a pool; undefined if it is incomplete. */
function deviceCount(slices: readonly ResourceSlice[]): number | undefined {
  const newest = Math.max(...slices.map(({ spec }) => Number(spec.pool.generation ?? 0)));
  const current = slices.filter(({ spec }) => Number(spec.pool.generation ?? 0) === newest);
  const complete =
    current.length > 0 &&
    current.every(({ spec }) => Number(spec.pool.resourceSliceCount) === current.length);
  return complete ? current.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0) : undefined;
}
