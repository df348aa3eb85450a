import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import { type Client, type Clock, type Log, sleep, withFields } from "@dray/client";
import { type Election, runDriver } from "@dray/driver";
import type { Fleet, FleetDriver, FleetPool } from "../fleet/fleet.ts";
import { runController } from "./controller.ts";
import { simulatedDriver } from "./driver.ts";
import { DeviceHealths, HealthRecords } from "./health.ts";
import { publishNodes } from "./publish-nodes.ts";

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
  /** Nodes without a kubelet that prepares claims, by name: only their devices are published. */
  readonly publishedNodes?: readonly string[];
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Names this boot of the machine; read from the kernel by default. */
  readonly bootID?: string;
  /**
   * Needed where several processes simulate one fleet: the leader alone publishes the pools of the network.
   */
  readonly election?: Election;
}

/** A running half of a driver: on a node, or beside the nodes. */
interface Part {
  readonly driver: FleetDriver;
  readonly log: Log;
  run(healths: DeviceHealths): Promise<void>;
}

/** Milliseconds between two starts of a driver that fails. */
const restartDelays = { first: 500, last: 30_000 };

/**
 * Runs the drivers of these nodes of a fleet until the signal aborts, and then until their claims are
 * unprepared, as `runDriver` does; and what they have beside the nodes: pools of the network, and binding
 * conditions. A part that fails is started again, and disturbs no other.
 */
export async function runSimulation(options: SimulationOptions): Promise<void> {
  const { fleet, nodes, publishedNodes = [], client, clock, log, signal } = options;
  const records = new HealthRecords(client);
  const ended = new AbortController();
  // Devices are published even if their health cannot be read.
  const synced = records.start(ended.signal).catch((error: Error) => {
    log.error({ error: error.message }, "The health that people have set cannot be read");
  });
  await Promise.race([synced, sleep(clock, recordsTimeout, signal)]);
  // Slices are owned by their Node: before it is there they cannot be published.
  const [only] = nodes;
  const informer = client.informer(Node, {
    ...(nodes.length === 1 &&
      publishedNodes.length === 0 && { fieldSelector: `metadata.name=${only?.name}` }),
  });
  const following = informer.start(ended.signal).catch((error: Error) => {
    log.error({ error: error.message }, "The Nodes cannot be read");
  });
  signal.addEventListener("abort", () => ended.abort(), { once: true });
  const exists = (name: string): Promise<void> => informer.until(() => informer.get({ name }) !== undefined);
  const onNodes = nodes.flatMap((node) =>
    (fleet.node(node.name)?.drivers ?? fleet.network).map((driver) =>
      nodePart(driver, node, options, exists),
    ),
  );
  const published =
    publishedNodes.length === 0
      ? undefined
      : publishNodes({
          ...{ fleet, records, client, clock, log, signal, nodes: publishedNodes },
          nodeUid: (name) => informer.get({ name })?.metadata.uid,
          onNode: (appeared) => void informer.handle({ add: ({ metadata }) => appeared(metadata.name) }),
        });
  try {
    await Promise.all([
      published,
      ...[...onNodes, ...controllerParts(options)].map(async (part) => {
        const { driver } = part;
        const healths = new DeviceHealths({ driver: driver.name, pools: driver.pools, records, clock });
        await keepRunning(part, healths, options);
      }),
    ]);
  } finally {
    ended.abort();
    await following;
  }
}

/** Milliseconds that devices wait for what people have said of their health. */
const recordsTimeout = 5000;

function nodePart(
  driver: FleetDriver,
  node: SimulatedNode,
  options: SimulationOptions,
  exists: (node: string) => Promise<void>,
): Part {
  const { client, clock, signal, bootID } = options;
  const log = withFields(options.log, { node: node.name, driver: driver.name });
  const folder = join(node.pluginsDirectory, driver.name);
  return {
    driver,
    log,
    async run(healths) {
      await exists(node.name);
      if (signal.aborted) return;
      const own = { driver, healths, nodeName: node.name, folder, client, clock, log };
      const simulated = simulatedDriver(own);
      await simulated.start();
      await runDriver(simulated, {
        ...node,
        nodeName: node.name,
        client,
        clock,
        log,
        signal,
        // Claims do not wait for each other.
        serialize: false,
        ...(bootID !== undefined && { bootID }),
      });
    },
  };
}

/** For each driver, of these nodes and of the network, what is done beside the nodes. */
function controllerParts(options: SimulationOptions): Part[] {
  const { fleet, nodes, publishedNodes = [] } = options;
  const names = [...nodes.map(({ name }) => name), ...publishedNodes];
  const pools = new Map<string, Set<FleetPool>>();
  const drivers = [...names.flatMap((name) => fleet.node(name)?.drivers ?? []), ...fleet.network];
  for (const driver of drivers) {
    const known = pools.get(driver.name) ?? new Set();
    for (const pool of driver.pools) known.add(pool);
    pools.set(driver.name, known);
  }
  return [...pools].flatMap(([name, all]) => {
    const log = withFields(options.log, { driver: name });
    const driver: FleetDriver = { name, profile: { name: "basic" }, pools: [...all] };
    const run = runController(driver, { ...options, log });
    return run === undefined ? [] : [{ driver, log, run }];
  });
}

async function keepRunning(
  part: Part,
  healths: DeviceHealths,
  { clock, signal }: SimulationOptions,
): Promise<void> {
  for (let delay = restartDelays.first; !signal.aborted; delay = Math.min(delay * 2, restartDelays.last)) {
    const started = clock.now();
    try {
      await part.run(healths);
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (clock.now() - started > restartDelays.last) delay = restartDelays.first;
      part.log.error({ error: (error as Error).message, delay }, "The driver failed, and is started again");
      await sleep(clock, delay, signal);
    }
  }
}
