import { type Features, matchesNodeSelector } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import { type Located, placeText } from "./place.ts";
import type { World } from "./world.ts";

type Slice = Located<ResourceSlice>;

/**
 * Resource pools that the scheduler would not take devices from (KEP-4381, ResourceSliceSpec.pool): incomplete ones,
 * and invalid ones. Slices of older generations are no fault: they are on their way out.
 */
export function checkPools(world: World, features: Features): string[] {
  const pools = Map.groupBy(
    world.all("ResourceSlice"),
    ({ object: { spec } }) => `${spec.driver}/${spec.pool.name}`,
  );
  const nodes = world.all("Node").map(({ object }) => object);
  return [...pools].flatMap(([name, slices]) => {
    const newest = Math.max(...slices.map(({ object }) => Number(object.spec.pool.generation)));
    const current = slices.filter(({ object }) => Number(object.spec.pool.generation) === newest);
    return checkPool(name, newest, current, nodes, features);
  });
}

function checkPool(
  name: string,
  generation: number,
  slices: readonly Slice[],
  nodes: readonly Node[],
  features: Features,
): string[] {
  const [first] = slices;
  if (first === undefined) return [];
  const at = placeText(first.place);
  const counts = new Set(slices.map(({ object }) => Number(object.spec.pool.resourceSliceCount)));
  const [count] = counts;
  if (counts.size > 1) {
    const list = slices
      .map(({ object, place }) => `${object.spec.pool.resourceSliceCount} (${placeText(place)})`)
      .join(", ");
    return [
      `${at}: pool ${name} is invalid: the slices of generation ${generation} disagree on resourceSliceCount: ${list}`,
    ];
  }
  if (slices.length !== count) {
    const names = slices.map(({ object }) => object.metadata.name).join(", ");
    return [
      `${at}: pool ${name} is incomplete: its slices say that generation ${generation} has ${count} of them (resourceSliceCount), and ${slices.length} ${slices.length === 1 ? "is" : "are"} given: ${names}`,
    ];
  }
  return [
    ...duplicateDevices(name, slices, nodes),
    ...(features.enabled("DRAPartitionableDevices") ? counterProblems(name, slices) : []),
  ];
}

/** A device name may come twice in a pool where no node sees both. */
function duplicateDevices(name: string, slices: readonly Slice[], nodes: readonly Node[]): string[] {
  const byName = Map.groupBy(
    slices.flatMap((slice) => (slice.object.spec.devices ?? []).map((device) => ({ slice, device }))),
    ({ device }) => device.name,
  );
  return [...byName].flatMap(([device, found]) => {
    const [one, other] = found;
    if (one === undefined || other === undefined) return [];
    const same = one.slice === other.slice;
    if (!same && !nodes.some((node) => sees(node, one.slice.object) && sees(node, other.slice.object)))
      return [];
    const second = same ? "" : ` and ${placeText(other.slice.place)}`;
    return [
      `${placeText(one.slice.place)}${second}: pool ${name} is invalid: it has two devices with the name ${device}`,
    ];
  });
}

function sees(node: Node, { spec }: ResourceSlice): boolean {
  return (
    reaches(spec, node) ||
    (spec.perDeviceNodeSelection === true && (spec.devices ?? []).some((device) => reaches(device, node)))
  );
}

function reaches(
  { nodeName, nodeSelector, allNodes }: Pick<Device, "nodeName" | "nodeSelector" | "allNodes">,
  node: Node,
): boolean {
  if (allNodes === true || nodeName === node.metadata.name) return true;
  return nodeSelector !== undefined && matchesNodeSelector(nodeSelector, node);
}

/** Counter sets are shared by all slices of a pool (KEP-4815). */
function counterProblems(name: string, slices: readonly Slice[]): string[] {
  const problems: string[] = [];
  const sets = new Map<string, ReadonlySet<string>>();
  for (const { object, place } of slices) {
    for (const { name: set, counters } of object.spec.sharedCounters ?? []) {
      if (sets.has(set))
        problems.push(
          `${placeText(place)}: pool ${name} is invalid: it has two counter sets with the name ${set}`,
        );
      sets.set(set, new Set(Object.keys(counters ?? {})));
    }
  }
  for (const { object, place } of slices) {
    for (const device of object.spec.devices ?? []) {
      for (const { counterSet, counters } of device.consumesCounters ?? []) {
        const known = sets.get(counterSet);
        const at = `${placeText(place)}: pool ${name} is invalid: device ${device.name} consumes`;
        if (known === undefined) {
          const all = [...sets.keys()].join(", ") || "none";
          problems.push(`${at} from counter set ${counterSet}, which no slice has: there are ${all}`);
          continue;
        }
        for (const counter of Object.keys(counters ?? {})) {
          if (!known.has(counter))
            problems.push(
              `${at} counter ${counter}, which counter set ${counterSet} does not have: there are ${[...known].join(", ")}`,
            );
        }
      }
    }
  }
  return problems;
}
