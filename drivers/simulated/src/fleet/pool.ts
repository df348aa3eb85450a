import type { Features } from "@dray/api";
import type { Device } from "@dray/api/resource/v1";
import { namePattern } from "../source/pattern.ts";
import { substitute, type Variables } from "../source/template.ts";
import { collect, FleetError, shown, type Value } from "../source/value.ts";
import { checkCounterSet, checkDeviceSpec, checkSpec } from "./check.ts";
import { type CounterSetDraft, type DeviceDraft, expandDevice } from "./device.ts";
import type { FleetDevice, FleetPool, PoolReach } from "./fleet.ts";

const nodePoolFields = [
  "name",
  "devices",
  "sharedCounters",
  "links",
  "partitionTypeAttribute",
  "skipNodeOperations",
] as const;
const networkPoolFields = [...nodePoolFields, "allNodes", "nodeSelector"] as const;

/** A pool of a node, which has the node's name unless it says otherwise. */
export function readNodePool(value: Value, variables: Variables, features: Features): FleetPool {
  const { name } = value.fields(nodePoolFields);
  const own = name.isSet ? substitute(name, variables).text() : String(variables["node"]);
  return readPool(value, own, { ...variables, pool: own }, features);
}

/** A pool that belongs to no node. */
export function readNetworkPool(value: Value, variables: Variables, features: Features): FleetPool {
  const { name, allNodes, nodeSelector } = value.fields(networkPoolFields);
  const own = substitute(name, variables).text("the name of the pool");
  if (allNodes.isSet === nodeSelector.isSet)
    value.fail("must have either allNodes: true or a nodeSelector, which say what nodes reach the pool");
  if (allNodes.isSet && allNodes.raw !== true) allNodes.fail(`${shown(allNodes.raw)} must be true`);
  const reach: PoolReach = nodeSelector.isSet
    ? {
        // The server keeps a selector that it accepts.
        nodeSelector: checkSpec(
          { nodeSelector: nodeSelector.raw },
          features,
          nodeSelector,
          "spec.nodeSelector",
        ).nodeSelector!,
      }
    : { allNodes: true };
  return { ...readPool(value, own, { ...variables, pool: own }, features), reach };
}

function readPool(value: Value, name: string, variables: Variables, features: Features): FleetPool {
  checkSpec(
    { nodeName: "node", pool: { name, resourceSliceCount: 1 } },
    features,
    value.at("name"),
    "spec.pool.name",
  );
  const expanded = value.at("devices").list((each) => expandDevice(each, variables));
  const drafts = expanded.flatMap(({ devices }) => devices);
  const links = readLinks(value.at("links"), variables, drafts);
  for (const draft of drafts) {
    const own = links.get(draft.name);
    if (own !== undefined)
      draft.tree["attributes"] = { ...(draft.tree["attributes"] as object | undefined), ...own };
  }
  const devices = checkDevices(drafts, features);
  const sets = [
    ...expanded.flatMap(({ counterSets }) => counterSets),
    ...value.at("sharedCounters").list((each) => readCounterSet(each, variables)),
  ];
  const sharedCounters = collect(sets, ({ tree, value }) => checkCounterSet(tree, features, value));
  const pool = { name, devices, sharedCounters, ...readSliceFields(value, features) };
  checkPool(pool, (device) => drafts[device]!.value, value);
  return pool;
}

/** Fields that all slices of the pool have. */
function readSliceFields(
  value: Value,
  features: Features,
): Pick<FleetPool, "partitionTypeAttribute" | "skipNodeOperations"> {
  const fields = ["partitionTypeAttribute", "skipNodeOperations"] as const;
  const own = fields.flatMap((field) => {
    const one = value.at(field);
    if (!one.isSet) return [];
    return [
      [field, checkSpec({ nodeName: "node", [field]: one.raw }, features, one, `spec.${field}`)[field]],
    ];
  });
  return Object.fromEntries(own);
}

/** Devices that are checked at a time: as many as a slice of the most demanding ones may have. */
const batchSize = 64;

/** Many at a time, and one by one only to name the one with a mistake. */
function checkDevices(drafts: readonly DeviceDraft[], features: Features): FleetDevice[] {
  const batches = Array.from({ length: Math.ceil(drafts.length / batchSize) }, (_, i) =>
    drafts.slice(i * batchSize, (i + 1) * batchSize),
  );
  return collect(batches, (batch) => {
    try {
      const trees = batch.map(({ tree }) => tree);
      const spec = { nodeName: "node", devices: trees };
      const { devices = [] } = checkSpec(spec, features, batch[0]!.value, "spec");
      return devices.map((device, i) => fleetDevice(device, batch[i]!));
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      // Equal names are reported with the rest of the pool.
      return collect(batch, (draft) => checkDevice(draft, features));
    }
  }).flat();
}

function fleetDevice(device: Device, { behaviour, partitionOf }: DeviceDraft): FleetDevice {
  return { device, behaviour, ...(partitionOf !== undefined && { partitionOf }) };
}

function checkDevice(draft: DeviceDraft, features: Features): FleetDevice {
  const { tree, value } = draft;
  return fleetDevice(checkDeviceSpec({ nodeName: "node", devices: [tree] }, features, value), draft);
}

function readCounterSet(value: Value, variables: Variables): CounterSetDraft {
  const { name, counters } = substitute(value, variables).fields(["name", "counters"]);
  const readCounter = (each: Value): { value: string } =>
    typeof each.raw === "object" && each.raw !== null
      ? { value: each.fields(["value"]).value.quantity() }
      : { value: each.quantity() };
  return {
    tree: { name: name.text("the name of a counter set"), counters: counters.map(readCounter) },
    value,
  };
}

/**
 * Attributes that say which devices are linked: `{nvlinkDomain: {switch-0: [gpu-0, gpu-1]}}` gives both the
 * attribute nvlinkDomain with the value switch-0, so that a claim can ask for devices that have it in common.
 * A device of several groups has a list of them.
 */
function readLinks(
  value: Value,
  variables: Variables,
  drafts: readonly DeviceDraft[],
): Map<string, Record<string, object>> {
  const links = new Map<string, Record<string, object>>();
  value.forEntries((attribute, name) => {
    const groups = new Map<string, string[]>();
    attribute.forEntries((members, key) => {
      const group = substitute(members.with(key), variables).text();
      for (const member of members.list((one) => substitute(one, variables))) {
        const matches = namePattern(member.text("the name of a device, or a pattern such as gpu-*"));
        const found = drafts.filter((draft) => matches(draft.name));
        if (found.length === 0)
          member.fail(`${shown(member.raw)} matches no device of the pool: it has ${namesOf(drafts)}`);
        for (const draft of found) groups.set(draft.name, [...(groups.get(draft.name) ?? []), group]);
      }
    });
    for (const [device, of] of groups) {
      const unique = [...new Set(of)];
      const link = unique.length === 1 ? { string: unique[0] } : { strings: unique };
      links.set(device, { ...links.get(device), [name]: link });
    }
  });
  return links;
}

function namesOf(named: readonly { readonly name: string }[]): string {
  const names = named.slice(0, 5).map(({ name }) => name);
  if (names.length === 0) return "none";
  return named.length > 5 ? `${names.join(", ")} and ${named.length - 5} more` : names.join(", ");
}

/**
 * Checks across the slices of a pool. The API server looks at one slice at a time; readers of the whole pool
 * would reject it.
 */
export function checkPool(
  { name, devices, sharedCounters, reach }: FleetPool,
  placeOf: (device: number) => Value,
  whole: Value,
): void {
  const seen = new Set<string>();
  const sets = new Map(sharedCounters.map((set) => [set.name, set.counters ?? {}]));
  if (sets.size < sharedCounters.length) {
    // Fewer names than sets: one is there twice.
    const twice = sharedCounters.find(
      ({ name }, i) => sharedCounters.findIndex((one) => one.name === name) < i,
    )!;
    whole.fail(`counter set ${shown(twice.name)} is in pool ${name} twice`);
  }
  const problems = devices.flatMap(({ device }, i) => {
    const value = placeOf(i);
    // Devices for different nodes may have one name.
    const twice = seen.has(device.name) && !(reach !== undefined && "perDeviceNodeSelection" in reach);
    seen.add(device.name);
    return [
      ...(twice
        ? [value.problem(`device ${shown(device.name)} is in pool ${name} twice: use {index} in the name`)]
        : []),
      ...counterProblems(device, sets).map((problem) => value.problem(problem)),
    ];
  });
  if (problems.length > 0) throw new FleetError(problems);
}

function counterProblems(
  { name, consumesCounters = [] }: Device,
  sets: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
): string[] {
  return consumesCounters.flatMap(({ counterSet, counters = {} }) => {
    const known = sets.get(counterSet);
    if (known === undefined) {
      const all = [...sets.keys()].join(", ") || "none";
      return [
        `device ${name} consumes from counter set ${shown(counterSet)}, which the pool lacks: it has ${all}`,
      ];
    }
    return Object.keys(counters)
      .filter((counter) => !Object.hasOwn(known, counter))
      .map(
        (counter) =>
          `device ${name} consumes counter ${shown(counter)}, which set ${counterSet} lacks: it has ${Object.keys(known).join(", ")}`,
      );
  });
}
