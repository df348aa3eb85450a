import { matchesNodeSelector, NodeSelectorError } from "@dray/api";
import type { Node, NodeSelector } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import { AttemptError, isOn, type Pool, type Question, variantOf } from "./model.ts";

/** Returns the pools of the node in the order of the search. Throws AttemptError. */
export function gatherPools(question: Question): Pool[] {
  const relevant = Map.groupBy(
    inOrder(question).filter((slice) => isVisible(question, slice) && isRelevant(question, slice)),
    ({ spec }) => `${spec.driver}/${spec.pool.name}`,
  );
  const pools = [...relevant.values()].flatMap((slices) => poolOf(question, slices) ?? []);
  if (variantOf(question.features) === "stable") return pools;
  return pools.toSorted(
    (a, b) => Number(binds(a)) - Number(binds(b)) || byText(a.driver, b.driver) || byText(a.name, b.name),
  );
}

/** Slices that name this node come first, except for stable, which keeps the given order. */
function inOrder({ features, slices, node }: Question): readonly ResourceSlice[] {
  if (variantOf(features) === "stable") return slices;
  const named = slices.filter(({ spec }) => spec.nodeName === node.metadata.name);
  return [...named, ...slices.filter(({ spec }) => !spec.nodeName)];
}

/** Slices that use a disabled feature are ignored. */
function isVisible(question: Question, { spec }: ResourceSlice): boolean {
  const partitions = spec.perDeviceNodeSelection !== undefined || (spec.sharedCounters ?? []).length > 0;
  if (partitions && !isOn(question, "PartitionableDevices")) return false;
  return isOn(question, "CompatibilityGroups") || !hasGroups({ spec });
}

function hasGroups({ spec }: Pick<ResourceSlice, "spec">): boolean {
  return (spec.devices ?? []).some((device) =>
    (device.consumesCounters ?? []).some((use) => (use.compatibilityGroups ?? []).length > 0),
  );
}

function isRelevant({ features, node }: Question, slice: ResourceSlice): boolean {
  const { spec } = slice;
  if (variantOf(features) === "stable" && (spec.sharedCounters ?? []).length > 0) return true;
  if (spec.nodeName || spec.allNodes || spec.nodeSelector !== undefined) {
    return isForNode(spec, node, `failed to perform node selection for slice ${slice.metadata.name}: `);
  }
  if (spec.perDeviceNodeSelection !== true) return false;
  return (spec.devices ?? []).some((device) =>
    isForNode(
      device,
      node,
      `failed to perform node selection for device ${device.name} in slice ${slice.metadata.name}: `,
    ),
  );
}

/** The fields that name nodes, of a slice or a device. */
interface Target {
  readonly nodeName?: string;
  readonly allNodes?: boolean;
  readonly nodeSelector?: NodeSelector;
}

/** Reports whether a slice or device is for the node. Throws AttemptError that begins with `where`. */
export function isForNode(target: Target, node: Node, where?: string): boolean {
  if (target.nodeName) return target.nodeName === node.metadata.name;
  if (target.allNodes === true) return true;
  if (target.nodeSelector === undefined) return false;
  try {
    return matchesNodeSelector(target.nodeSelector, node);
  } catch (error) {
    if (!(error instanceof NodeSelectorError)) throw error;
    const prefix = where === undefined ? "" : `gather pool information: ${where}`;
    throw new AttemptError(`${prefix}failed to parse node selector: ${error.message}`);
  }
}

const generation = ({ spec }: ResourceSlice): bigint => BigInt(spec.pool.generation);

/** Returns undefined for an obsolete pool: its newest generation is for other nodes. */
function poolOf(question: Question, relevant: readonly ResourceSlice[]): Pool | undefined {
  const newest = relevant.map(generation).reduce((a, b) => (a > b ? a : b));
  let slices = relevant.filter((slice) => generation(slice) === newest);
  const { driver, pool } = slices[0]!.spec;
  const count = Number(pool.resourceSliceCount);
  const base = { driver, name: pool.name, slices: [], elsewhere: [], counters: new Map() };
  let elsewhere: ResourceSlice[] = [];
  if (slices.length !== count) {
    const all = question.slices.filter(({ spec }) => spec.driver === driver && spec.pool.name === pool.name);
    if (all.some((slice) => generation(slice) > newest)) return undefined;
    const same = all
      .filter((slice) => generation(slice) === newest)
      .filter((slice) => isOn(question, "CompatibilityGroups") || !hasGroups(slice));
    if (same.length !== count) return { ...base, state: "incomplete" };
    elsewhere = same.filter((slice) => !slices.includes(slice));
  }
  if (variantOf(question.features) !== "stable") {
    slices = slices.toSorted((a, b) => byText(a.metadata.name, b.metadata.name));
  }
  const invalid: Pool = { ...base, state: "invalid" };
  const counts = ({ spec }: ResourceSlice): boolean => (spec.sharedCounters ?? []).length > 0;
  const withDevices = slices.filter((slice) => !counts(slice));
  if (hasDuplicates(withDevices.flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name)))) {
    return invalid;
  }
  if (!isOn(question, "PartitionableDevices")) return { ...base, state: "usable", slices };
  const sets = [...slices, ...elsewhere].flatMap(({ spec }) => spec.sharedCounters ?? []);
  if (hasDuplicates(sets.map(({ name }) => name))) return invalid;
  const counters = new Map(
    sets.map((set) => [
      set.name,
      new Map(Object.entries(set.counters ?? {}).map(([name, { value }]) => [name, value])),
    ]),
  );
  const others = elsewhere.filter((slice) => !counts(slice));
  const known = [...withDevices, ...others]
    .flatMap(({ spec }) => (spec.devices ?? []).flatMap((device) => device.consumesCounters ?? []))
    .every(
      (use) =>
        Object.keys(use.counters ?? {}).every((name) => counters.get(use.counterSet)?.has(name)) &&
        counters.has(use.counterSet),
    );
  if (!known) return invalid;
  return { ...base, state: "usable", slices: withDevices, elsewhere: others, counters };
}

/** Pools with binding conditions come last. */
function binds(pool: Pool): boolean {
  return pool.slices.some(({ spec }) =>
    (spec.devices ?? []).some((device) => device.bindingConditions !== undefined),
  );
}

const hasDuplicates = (names: readonly string[]): boolean => new Set(names).size < names.length;
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
