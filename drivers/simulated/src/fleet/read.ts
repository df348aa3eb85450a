import { type Features, featuresOf, parseKubernetesVersion } from "@dray/api";
import { documents, type FleetSource, fleetVersion, sortKinds } from "../source/documents.ts";
import { collect, FleetError, type FleetProblem, type Value } from "../source/value.ts";
import { classes, classOfObject } from "./classes.ts";
import { readDump } from "./dump.ts";
import type { Fleet, FleetDriver, FleetNode } from "./fleet.ts";
import { checkPoolNames, merged } from "./merge.ts";
import {
  driverOfDump,
  type NodeEntry,
  nodeOfObject,
  nodesOfDump,
  plainNodes,
  readDriver,
  readFleetObject,
} from "./node-entries.ts";
import { readNetworkPool } from "./pool.ts";
export interface ReadFleetOptions {
  /** The rules by which devices are judged; those of the newest release if absent. */
  readonly features?: Features;
  /**
   * Maximum number of devices of all nodes together, each of which takes some kilobytes; 100,000 if absent.
   */
  readonly maxDevices?: number;
  /** Simulated nodes beside those that the files name, which patterns may be about. */
  readonly simulatedNodes?: readonly string[];
  /** All nodes are simulated, whatever the files say. */
  readonly simulateAll?: boolean;
}

/**
 * Reads a fleet: documents of kind Fleet (`dray.dev/v1alpha1`), and what `kubectl get -o yaml` prints of
 * ResourceSlices, Nodes and DeviceClasses, alone or in lists. Throws a FleetError with all mistakes, each
 * with file, line, path, value and what would be accepted.
 */
export function readFleet(sources: readonly FleetSource[], options: ReadFleetOptions = {}): Fleet {
  const features = options.features ?? featuresOf(parseKubernetesVersion(undefined), new Map());
  const notes: string[] = [];
  const objects = collect(sources, documents).flat();
  if (objects.length === 0) {
    const file = sources.map((source) => source.file).join(", ");
    const message = `there is nothing in it: a Fleet (apiVersion: ${fleetVersion}, kind: Fleet) or ResourceSlices are needed`;
    throw new FleetError([{ file, path: "", message }]);
  }
  const kinds = sortKinds(objects, notes);
  const dumped = readDump(kinds.slices, features);
  for (const note of dumped.notes) notes.push(note);
  const fleets = collect(kinds.fleets, readFleetObject);
  const entries = [
    ...fleets.flatMap(({ nodes }) => nodes),
    ...collect(kinds.nodes, nodeOfObject),
    ...nodesOfDump(dumped.pools),
    ...plainNodes(options.simulatedNodes ?? [], objects[0]!),
  ];
  const network = merged(objects[0]!, "network", [
    ...collect(
      fleets.flatMap((fleet) => fleet.network),
      (driver) => readDriver(driver, {}, features, readNetworkPool),
    ),
    ...dumped.pools.filter(({ node }) => node === undefined).map(driverOfDump),
  ]);
  const named = [...new Set(entries.flatMap(({ names }) => names))];
  if (named.length === 0 && entries.length === 0 && network.length === 0)
    throw new FleetError([
      objects[0]!.problem("there are no devices in it: nodes, network or ResourceSlices are needed"),
    ]);
  const places = new Map(named.map((name, index) => [name, index]));
  const cache = new Map<string, FleetNode>();
  const node = (name: string): FleetNode | undefined => {
    const known = cache.get(name);
    if (known !== undefined) return known;
    const own = entries.filter((entry) => entry.matches(name));
    if (own.length === 0) return undefined;
    const read = makeNode({ node: name, nodeIndex: places.get(name) ?? 0 }, own, network, features);
    const made = options.simulateAll === true ? { ...read, simulated: true } : read;
    cache.set(name, made);
    return made;
  };
  // Each of the names is that of an entry.
  const nodes = makeNodes(named, (name) => node(name)!, objects[0]!, options.maxDevices ?? 100_000);
  checkPoolNames(nodes, objects[0]!);
  // Profiles that no node uses yet are checked, too.
  collect(entries, (entry) => {
    if (!named.some(entry.matches)) makeNode({ node: "node", nodeIndex: 0 }, [entry], network, features);
  });
  const drivers = [...new Set([...nodes.flatMap((one) => one.drivers), ...network].map(({ name }) => name))];
  const given = [...fleets.flatMap((fleet) => fleet.classes), ...collect(kinds.classes, classOfObject)];
  return { nodes, network, node, notes, deviceClasses: classes(given, drivers) };
}

/** All nodes; throws at once when they have too many devices to go on. */
function makeNodes(
  names: readonly string[],
  make: (name: string) => FleetNode,
  value: Value,
  maxDevices: number,
): FleetNode[] {
  const problems: FleetProblem[] = [];
  const nodes: FleetNode[] = [];
  let devices = 0;
  for (const name of names) {
    try {
      const node = make(name);
      nodes.push(node);
      for (const { pools } of node.drivers)
        for (const { reach, devices: own } of pools) devices += reach === undefined ? own.length : 0;
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      for (const problem of error.problems) problems.push(problem);
      // Its other nodes have the same mistakes.
      if (problems.length > maxProblems) break;
    }
    if (devices > maxDevices)
      value.fail(`the nodes up to ${name} have more than ${maxDevices} devices together: describe fewer`);
  }
  if (problems.length > 0) throw new FleetError(problems);
  return nodes;
}

/** Mistakes after which no more nodes are looked at. */
const maxProblems = 100;

/** A node of these entries; the drivers of the network serve on each. */
function makeNode(
  variables: { readonly node: string; readonly nodeIndex: number },
  entries: readonly NodeEntry[],
  network: readonly FleetDriver[],
  features: Features,
): FleetNode {
  const name = variables.node;
  const labels: Record<string, string> = {};
  let capacity: Record<string, string> = {};
  const drivers = collect(entries, (entry) => {
    for (const [key, value] of Object.entries(entry.labels(variables))) {
      if (labels[key] !== undefined && labels[key] !== value)
        entry.value.fail(`node ${name} has label ${key}=${value} here and ${key}=${labels[key]} before`);
      labels[key] = value;
    }
    capacity = { ...capacity, ...entry.capacity };
    return { entry, drivers: entry.drivers(variables, features) };
  });
  const all = [...drivers.flatMap((one) => one.drivers), ...network];
  const simulated = entries.some((entry) => entry.simulated);
  // Nodes without entries are not made.
  return { name, labels, capacity, simulated, drivers: merged(entries.at(-1)!.value, `node ${name}`, all) };
}
