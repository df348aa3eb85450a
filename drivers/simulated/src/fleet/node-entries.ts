import { type Draft, dnsSubdomain, type Features } from "@dray/api";
import type { DeviceClass } from "@dray/api/resource/v1";
import { metadataVersions } from "@dray/driver";
import { namePattern } from "../source/pattern.ts";
import { substitute, type Variables } from "../source/template.ts";
import { shown, type Value } from "../source/value.ts";
import { driverName } from "./check.ts";
import { readClass } from "./classes.ts";
import type { DumpedPool } from "./dump.ts";
import type { FleetDriver, FleetPool } from "./fleet.ts";
import { readNodePool } from "./pool.ts";
import { readProfile } from "./profile-choice.ts";
/** The settings of one part of a fleet file, for the nodes that it selects. */
export interface NodeEntry {
  /** The nodes that it makes; a pattern makes none. */
  readonly names: readonly string[];
  matches(name: string): boolean;
  labels(variables: Variables): Record<string, string>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly simulated: boolean;
  drivers(variables: Variables, features: Features): FleetDriver[];
  readonly value: Value;
}

/** Maximum number of nodes of one entry. */
const maxNodes = 20_000;

export function readFleetObject(value: Value): {
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
export function nodeOfObject(value: Value): NodeEntry {
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
export function plainNodes(names: readonly string[], value: Value): NodeEntry[] {
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

export function nodesOfDump(pools: readonly DumpedPool[]): NodeEntry[] {
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

export const driverOfDump = ({ driver, pool }: DumpedPool): FleetDriver => ({
  name: driver,
  profile: { name: "basic" },
  pools: [pool],
});

export function readDriver(
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
