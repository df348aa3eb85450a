import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import type { ClusterConfig, Layout } from "@dray/cluster";
import { type Fleet, type ReadFleetOptions, readFleet } from "@dray/driver-simulated";
import { readFlagFile } from "../options/flag-file.ts";
import { simulationOf } from "./simulated-nodes.ts";

/** A fleet file of `--fleet`. */
export interface FleetFile {
  /** The absolute path. */
  readonly path: string;
  readonly text: string;
  readonly fleet: Fleet;
}

/**
 * Reads the file of `--fleet`. Throws a UsageError if it cannot be read, and a FleetError if it is invalid.
 */
export function readFleetFile(file: string, options: ReadFleetOptions = {}): FleetFile {
  const text = readFlagFile("--fleet", file);
  return { path: resolve(file), text, fleet: readFleet([{ file, text }], options) };
}

/** Returns the fleet that a cluster was created with, from its copy; undefined without one. */
export function fleetOf(
  layout: Layout,
  config: Pick<ClusterConfig, "fleet" | "kubernetesVersion" | "featureGates" | "simulatedNodes">,
): Fleet | undefined {
  if (config.fleet === undefined) return undefined;
  const features = featuresOf(
    parseKubernetesVersion(config.kubernetesVersion),
    parseFeatureGates(config.featureGates),
  );
  const options = { features, ...simulationOf(config) };
  return readFleet([{ file: config.fleet, text: keptText(layout) }], options);
}

/** Reads the cluster's copy of its fleet file. */
export function keptText(layout: Layout): string {
  return readFileSync(layout.fleetFile, "utf8");
}

/** Returns a text: `2 nodes, 1 driver, 16 devices`. */
export function fleetText({ nodes, network }: Fleet): string {
  const drivers = [...nodes.flatMap((node) => node.drivers), ...network];
  // Network pools are the same on every node.
  const pools = new Set(drivers.flatMap((driver) => driver.pools));
  const devices = [...pools].reduce((sum, pool) => sum + pool.devices.length, 0);
  const names = new Set(drivers.map(({ name }) => name));
  return [count(nodes.length, "node"), count(names.size, "driver"), count(devices, "device")].join(", ");
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
