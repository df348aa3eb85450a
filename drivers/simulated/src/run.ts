import { join } from "node:path";
import { type Client, type Clock, type Log, sleep, withFields } from "@dray/client";
import { type HealthcheckOptions, runDriver } from "@dray/driver";
import { simulatedDriver } from "./driver.ts";
import type { Fleet, FleetDriver } from "./fleet/fleet.ts";
import { DeviceHealths, HealthRecords } from "./health.ts";

/** A node that drivers run for, and where its kubelet looks for them. */
export interface SimulatedNode {
  readonly name: string;
  /** `/var/lib/kubelet/plugins_registry` */
  readonly registrarDirectory: string;
  /** `/var/lib/kubelet/plugins` */
  readonly pluginsDirectory: string;
  /** `/var/run/cdi` */
  readonly cdiDirectory: string;
}

export interface SimulationOptions {
  readonly fleet: Fleet;
  readonly nodes: readonly SimulatedNode[];
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Names this boot of the machine; read from the kernel by default. */
  readonly bootID?: string;
  readonly healthcheck?: HealthcheckOptions;
}

/** Milliseconds between two starts of a driver that fails. */
const restartDelays = { first: 500, last: 30_000 };

/**
 * Runs the drivers of these nodes of a fleet until the signal aborts, and then until their claims are unprepared, as
 * `runDriver` does. One that fails is started again, and disturbs no other.
 */
export async function runSimulation(options: SimulationOptions): Promise<void> {
  const { fleet, nodes, client, signal } = options;
  const records = new HealthRecords(client);
  const ended = new AbortController();
  // Health that nobody may read must not keep devices from being published.
  const synced = records.start(ended.signal).catch((error: Error) => {
    options.log.error({ error: error.message }, "The health that people have set cannot be read");
  });
  await Promise.race([synced, sleep(options.clock, recordsTimeout, signal)]);
  try {
    await Promise.all(
      nodes.flatMap((node) =>
        (fleet.node(node.name)?.drivers ?? fleet.network).map((driver) =>
          keepRunning(driver, node, records, options),
        ),
      ),
    );
  } finally {
    ended.abort();
  }
}

/** Milliseconds that devices wait for what people have said of their health. */
const recordsTimeout = 5000;

async function keepRunning(
  driver: FleetDriver,
  node: SimulatedNode,
  records: HealthRecords,
  options: SimulationOptions,
): Promise<void> {
  const { client, clock, signal } = options;
  const log = withFields(options.log, { node: node.name, driver: driver.name });
  const healths = new DeviceHealths({ driver: driver.name, pools: driver.pools, records, clock });
  for (let delay = restartDelays.first; !signal.aborted; delay = Math.min(delay * 2, restartDelays.last)) {
    const started = clock.now();
    try {
      const { pluginsDirectory } = node;
      const folder = join(pluginsDirectory, driver.name);
      const simulated = simulatedDriver({ driver, healths, nodeName: node.name, folder, client, clock, log });
      await simulated.start();
      const { bootID, healthcheck } = options;
      await runDriver(simulated, {
        ...node,
        nodeName: node.name,
        client,
        clock,
        log,
        signal,
        ...(bootID !== undefined && { bootID }),
        ...(healthcheck && { healthcheck }),
      });
    } catch (error) {
      if (signal.aborted) return;
      if (clock.now() - started > restartDelays.last) delay = restartDelays.first;
      log.error({ error: (error as Error).message, delay }, "The driver failed, and is started again");
      await sleep(clock, delay, signal);
    }
  }
}
