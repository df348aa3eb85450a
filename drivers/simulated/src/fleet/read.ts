import { type Draft, dnsSubdomain, type Features, featuresOf, parseKubernetesVersion } from "@dray/api";
import { JSONError, parseJSON } from "@dray/api/codec";
import type { DeviceClass } from "@dray/api/resource/v1";
import { lineFinder, parseYAMLDocuments, YAMLError } from "@dray/api/yaml";
import { metadataVersions } from "@dray/driver";
import { readProfile } from "../profiles/profile.ts";
import { driverName } from "./check.ts";
import { type DumpedPool, readDump } from "./dump.ts";
import type { Fleet, FleetDriver, FleetNode, FleetPool } from "./fleet.ts";
import { checkPoolNames, merged } from "./merge.ts";
import { namePattern } from "./pattern.ts";
import { readNetworkPool, readNodePool } from "./pool.ts";
import { substitute, type Variables } from "./template.ts";
import { collect, FleetError, type FleetProblem, shown, Value } from "./value.ts";

/** A text with a fleet. */
export interface FleetSource {
  /** As errors name it. */
  readonly file: string;
  /** YAML with any number of documents, or JSON. */
  readonly text: string;
}

export interface ReadFleetOptions {
  /** The rules by which devices are judged; those of the newest release if absent. */
  readonly features?: Features;
  /** Most devices of all nodes together, each of which takes some kilobytes; 100,000 if absent. */
  readonly maxDevices?: number;
  /** Simulated nodes beside those that the files name, which patterns may be about. */
  readonly simulatedNodes?: readonly string[];
  /** All nodes are simulated, whatever the files say. */
  readonly simulateAll?: boolean;
}

export const fleetVersion = "dray.dev/v1alpha1";

/**
 * Reads a fleet: documents of kind Fleet (`dray.dev/v1alpha1`), and what `kubectl get -o yaml` prints of
 * ResourceSlices, Nodes and DeviceClasses, alone or in lists. Throws a FleetError with all mistakes, each with file,
 * line, path, value and what would be accepted.
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
  const nodes = makeNodes(named, (name) => node(name)!, objects[0]!, options.maxDevices ?? 100_000);
  checkPoolNames(nodes, objects[0]!);
  // What no node has yet must be right, too.
  collect(entries, (entry) => {
    if (!named.some(entry.matches)) makeNode({ node: "node", nodeIndex: 0 }, [entry], network, features);
  });
  const drivers = [...new Set([...nodes.flatMap((one) => one.drivers), ...network].map(({ name }) => name))];
  const given = [...fleets.flatMap((fleet) => fleet.classes), ...collect(kinds.classes, classOfObject)];
  return { nodes, network, node, notes, deviceClasses: classes(given, drivers) };
}

/** All objects of a text, those of lists one by one. */
function documents({ file, text }: FleetSource): Value[] {
  const fail = (message: string, line?: number): never => {
    throw new FleetError([{ file, path: "", message, ...(line !== undefined && { line }) }]);
  };
  const lineOf = lineFinder(text);
  let trees: { readonly value: unknown; readonly document: number }[];
  try {
    if (file.endsWith(".json")) trees = [{ value: parseJSON(text), document: 1 }];
    else {
      const read = parseYAMLDocuments(text);
      const [duplicate] = read.flatMap(({ duplicates }) => duplicates);
      const [, line, message = duplicate] = /^line (\d+): (.*)$/s.exec(duplicate ?? "") ?? [];
      if (message !== undefined) return fail(message, line === undefined ? undefined : Number(line));
      trees = read;
    }
  } catch (error) {
    if (error instanceof JSONError)
      return fail(`is not JSON: ${error.message}`, text.slice(0, error.at).split("\n").length);
    if (!(error instanceof YAMLError)) throw error;
    return fail(`is not YAML: ${error.message.replace(/^yaml: (?:line \d+: )?/, "")}`, error.line);
  }
  return trees.flatMap(({ value, document }) =>
    objectsOf(new Value({ file, lineOf: (path) => lineOf(document, path) }, "", value)),
  );
}

function objectsOf(value: Value, listKind?: { readonly apiVersion: string; readonly kind: string }): Value[] {
  const tree = value.object();
  const own = { ...listKind, ...tree };
  const kind = value.with(own).at("kind").text("the kind of an object, such as Fleet or ResourceSlice");
  const apiVersion = value.with(own).at("apiVersion").text(`an API version, such as ${fleetVersion}`);
  if (!kind.endsWith("List") || !("items" in tree)) return [value.with(own)];
  // What the API answers in one list says its kind only once.
  const itemKind = kind === "List" ? undefined : { apiVersion, kind: kind.slice(0, -"List".length) };
  return value
    .at("items")
    .list((item) => objectsOf(item, itemKind))
    .flat();
}

interface Kinds {
  readonly fleets: readonly Value[];
  readonly slices: readonly Value[];
  readonly nodes: readonly Value[];
  readonly classes: readonly Value[];
}

function sortKinds(objects: readonly Value[], notes: string[]): Kinds {
  const kinds = {
    fleets: [] as Value[],
    slices: [] as Value[],
    nodes: [] as Value[],
    classes: [] as Value[],
  };
  const aside = new Map<string, number>();
  collect(objects, (object) => {
    const { apiVersion, kind } = object.object() as { apiVersion: string; kind: string };
    const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
    if (group === "dray.dev") {
      object.at("apiVersion").oneOf([fleetVersion]);
      object.at("kind").oneOf(["Fleet"]);
      kinds.fleets.push(object);
    } else if (group === "resource.k8s.io" && kind === "ResourceSlice") kinds.slices.push(object);
    else if (group === "resource.k8s.io" && kind === "DeviceClass") kinds.classes.push(object);
    else if (apiVersion === "v1" && kind === "Node") kinds.nodes.push(object);
    else {
      const key = `${object.origin.file}: ${kind} (${apiVersion})`;
      aside.set(key, (aside.get(key) ?? 0) + 1);
    }
  });
  for (const [what, count] of aside)
    notes.push(`${what} is left aside: ${count === 1 ? "1 object" : `${count} objects`}`);
  return kinds;
}

/** What a part of a file says of the nodes that it is about. */
interface NodeEntry {
  /** The nodes that it makes; a pattern makes none. */
  readonly names: readonly string[];
  matches(name: string): boolean;
  labels(variables: Variables): Record<string, string>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly simulated: boolean;
  drivers(variables: Variables, features: Features): FleetDriver[];
  readonly value: Value;
}

/** Most nodes that one entry makes. */
const maxNodes = 20_000;

function readFleetObject(value: Value): {
  readonly nodes: readonly NodeEntry[];
  readonly network: readonly Value[];
  readonly classes: readonly Draft<DeviceClass>[];
} {
  const { nodes, network, deviceClasses } = value.fields([
    "apiVersion",
    "kind",
    "metadata",
    "nodes",
    "network",
    "deviceClasses",
  ]);
  return {
    nodes: nodes.list(readNodeEntry),
    network: network.list((one) => one),
    classes: deviceClasses.list(readClass),
  };
}

function readNodeEntry(value: Value): NodeEntry {
  const fields = value.fields([
    ...["name", "names", "pattern", "count"],
    ...["labels", "capacity", "simulated", "drivers"],
  ] as const);
  const { name, names, pattern, count } = fields;
  if ([name, names, pattern].filter(({ isSet }) => isSet).length !== 1)
    value.fail("must have exactly one of name, names and pattern, which say what nodes it is about");
  if (count.isSet && !name.isSet) count.fail("goes with name only, as in name: gpu-{index}");
  const made = name.isSet ? countedNames(name, count) : names.list(nodeName);
  const matches = pattern.isSet
    ? namePattern(pattern.text("a pattern such as gpu-*"))
    : (
        (known) => (node: string) =>
          known.has(node)
      )(new Set(made));
  return {
    names: made,
    matches,
    labels: (variables) => substitute(fields.labels, variables).map((one) => one.anyText()),
    capacity: fields.capacity.map((one) => one.quantity()),
    simulated: fields.simulated.optional((one) => one.boolean()) ?? false,
    drivers: (variables, features) =>
      fields.drivers.list((one) => readDriver(one, variables, features, readNodePool)),
    value,
  };
}

function countedNames(name: Value, count: Value): string[] {
  const total = count.optional((one) => one.integer(1, maxNodes)) ?? 1;
  const made = Array.from({ length: total }, (_, index) => nodeName(substitute(name, { index })));
  if (new Set(made).size < made.length)
    name.fail(`${shown(name.raw)} is the same for each of ${total} nodes: use {index}, as in gpu-{index}`);
  return made;
}

function nodeName(value: Value): string {
  const name = value.text("the name of a node, such as gpu-node-1");
  const [problem] = dnsSubdomain(name);
  if (problem !== undefined) value.fail(`${shown(name)} cannot name a node: ${problem}`);
  return name;
}

/** A Node of a real cluster: its labels and capacity. */
function nodeOfObject(value: Value): NodeEntry {
  const metadata = value.at("metadata");
  const name = nodeName(metadata.isSet ? metadata.at("name") : value.at("metadata"));
  const capacity = value.at("status").isSet ? value.at("status").at("capacity") : value.at("status");
  return {
    names: [name],
    matches: (node) => node === name,
    labels: () => metadata.at("labels").map((one) => one.anyText()),
    // Extended resources are what device plugins have brought, which are not simulated.
    capacity: Object.fromEntries(
      Object.entries(capacity.map((one) => one.quantity())).filter(([resource]) => !resource.includes("/")),
    ),
    simulated: false,
    drivers: () => [],
    value,
  };
}

/** Simulated nodes of which the files say nothing but by patterns. */
function plainNodes(names: readonly string[], value: Value): NodeEntry[] {
  if (names.length === 0) return [];
  const known = new Set(names);
  return [
    {
      names,
      matches: (name) => known.has(name),
      labels: () => ({}),
      capacity: {},
      simulated: true,
      drivers: () => [],
      value,
    },
  ];
}

function nodesOfDump(pools: readonly DumpedPool[]): NodeEntry[] {
  return pools.flatMap((dumped) => {
    const { node, value } = dumped;
    if (node === undefined) return [];
    return {
      names: [node],
      matches: (name: string) => name === node,
      labels: () => ({}),
      capacity: {},
      simulated: false,
      drivers: () => [driverOfDump(dumped)],
      value,
    };
  });
}

const driverOfDump = ({ driver, pool }: DumpedPool): FleetDriver => ({
  name: driver,
  profile: { name: "basic" },
  pools: [pool],
});

function readDriver(
  value: Value,
  variables: Variables,
  features: Features,
  readPool: (pool: Value, variables: Variables, features: Features) => FleetPool,
): FleetDriver {
  const { driver, profile, options, metadata, pools } = value.fields([
    "driver",
    "profile",
    "options",
    "metadata",
    "pools",
  ]);
  const name = driverName(driver);
  const versions = metadata.list((one) => one.oneOf(metadataVersions));
  return {
    name,
    ...(versions.length > 0 && { metadata: versions }),
    profile: readProfile(profile, substitute(options, variables), Number(variables["nodeIndex"] ?? 0)),
    pools: pools.list((pool) => readPool(pool, { ...variables, driver: name }, features)),
  };
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
  return { name, labels, capacity, simulated, drivers: merged(entries.at(-1)!.value, `node ${name}`, all) };
}

/** `{name, selectors: [CEL]}`, with further fields of DeviceClass.spec. */
function readClass(value: Value): Draft<DeviceClass> {
  const { name, selectors, config, extendedResourceName } = value.fields([
    "name",
    "selectors",
    "config",
    "extendedResourceName",
  ]);
  const spec: Record<string, unknown> = {
    selectors: selectors.list((one) =>
      typeof one.raw === "string" ? { cel: { expression: one.text() } } : one.object(),
    ),
    ...(config.isSet && { config: config.list((one) => one.object()) }),
    ...(extendedResourceName.isSet && { extendedResourceName: extendedResourceName.text() }),
  };
  return {
    metadata: { name: name.text("the name of a DeviceClass, such as gpu.example.com") },
    spec,
  } as Draft<DeviceClass>;
}

function classOfObject(value: Value): Draft<DeviceClass> {
  const metadata = value.at("metadata");
  metadata.object();
  const { name, labels } = { name: metadata.at("name").text(), labels: metadata.at("labels") };
  const spec = value.at("spec");
  return {
    metadata: { name, ...(labels.isSet && { labels: labels.map((one) => one.anyText()) }) },
    spec: spec.isSet ? spec.object() : {},
  } as Draft<DeviceClass>;
}

/** The classes of the files; if these have none, one for each driver, under its name. */
function classes(given: readonly Draft<DeviceClass>[], drivers: readonly string[]): Draft<DeviceClass>[] {
  if (given.length > 0) return [...given];
  return drivers.map((name) => ({
    metadata: { name },
    spec: { selectors: [{ cel: { expression: `device.driver == ${JSON.stringify(name)}` } }] },
  }));
}
