import { type Features, matchesNodeSelector } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import { type Located, placeText } from "./place.ts";
import type { World } from "./world.ts";

type Slice = Located<ResourceSlice>;

/** A pool that the scheduler ignores. */
export interface PoolProblem {
  readonly state: "incomplete" | "invalid";
  /** The slice and the field with the problem. */
  readonly slice: Slice;
  readonly path: string;
  readonly message: string;
}

/**
 * Finds resource pools that the scheduler ignores (KEP-4381, ResourceSliceSpec.pool): incomplete and invalid
 * ones. Slices of older generations are not a problem: they are about to be deleted.
 */
export function checkPools(world: World, features: Features): PoolProblem[] {
  const pools = Map.groupBy(
    world.all("ResourceSlice"),
    ({ object: { spec } }) => `${spec.driver}/${spec.pool.name}`,
  );
  const nodes = world.all("Node").map(({ object }) => object);
  return [...pools].flatMap(([name, slices]) => {
    const newest = slices.reduce(
      (most, { object }) => Math.max(most, Number(object.spec.pool.generation)),
      Number.NEGATIVE_INFINITY,
    );
    const current = slices.filter(({ object }) => Number(object.spec.pool.generation) === newest);
    return checkPool(name, current, nodes, features);
  });
}

function invalid(slice: Slice, path: string, pool: string, why: string): PoolProblem {
  return { state: "invalid", slice, path, message: `pool ${pool} is invalid: ${why}` };
}

function checkPool(
  name: string,
  slices: readonly Slice[],
  nodes: readonly Node[],
  features: Features,
): PoolProblem[] {
  const [first] = slices;
  if (first === undefined) return [];
  const { generation } = first.object.spec.pool;
  const counts = new Set(slices.map(({ object }) => Number(object.spec.pool.resourceSliceCount)));
  const [count] = counts;
  const path = "spec.pool.resourceSliceCount";
  if (counts.size > 1) {
    const list = slices
      .map(({ object, place }) => `${object.spec.pool.resourceSliceCount} (${placeText(place, path)})`)
      .join(", ");
    const why = `the slices of generation ${generation} disagree on resourceSliceCount: ${list}`;
    return [invalid(first, path, name, why)];
  }
  if (slices.length !== count) {
    const names = slices.map(({ object }) => object.metadata.name).join(", ");
    const message = `pool ${name} is incomplete: its slices say that generation ${generation} has ${count} of them (resourceSliceCount), and ${slices.length} ${slices.length === 1 ? "is" : "are"} given: ${names}`;
    return [{ state: "incomplete", slice: first, path, message }];
  }
  return [
    ...duplicateDevices(name, slices, nodes),
    ...(features.enabled("DRAPartitionableDevices") ? counterProblems(name, slices) : []),
  ];
}

/** A device name may occur twice in a pool if no node can reach both devices. */
function duplicateDevices(name: string, slices: readonly Slice[], nodes: readonly Node[]): PoolProblem[] {
  const byName = Map.groupBy(
    slices.flatMap((slice) =>
      (slice.object.spec.devices ?? []).map((device, index) => ({ slice, device, index })),
    ),
    ({ device }) => device.name,
  );
  return [...byName].flatMap(([device, found]) => {
    const [one, other] = found;
    if (one === undefined || other === undefined) return [];
    const same = one.slice === other.slice;
    if (!same && !nodes.some((node) => sees(node, one.slice.object) && sees(node, other.slice.object)))
      return [];
    const first = placeText(one.slice.place, `spec.devices[${one.index}].name`);
    const why = `it has two devices with the name ${device}: the other is in ${first}`;
    return [invalid(other.slice, `spec.devices[${other.index}].name`, name, why)];
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

/** All slices of a pool share the counter sets (KEP-4815). */
function counterProblems(name: string, slices: readonly Slice[]): PoolProblem[] {
  const problems: PoolProblem[] = [];
  const sets = new Map<string, ReadonlySet<string>>();
  for (const slice of slices) {
    (slice.object.spec.sharedCounters ?? []).forEach(({ name: set, counters }, index) => {
      if (sets.has(set)) {
        const path = `spec.sharedCounters[${index}].name`;
        problems.push(invalid(slice, path, name, `it has two counter sets with the name ${set}`));
      }
      sets.set(set, new Set(Object.keys(counters ?? {})));
    });
  }
  for (const slice of slices) {
    (slice.object.spec.devices ?? []).forEach((device, d) => {
      (device.consumesCounters ?? []).forEach(({ counterSet, counters }, c) => {
        const path = `spec.devices[${d}].consumesCounters[${c}]`;
        const known = sets.get(counterSet);
        const what = `device ${device.name} consumes`;
        if (known === undefined) {
          const all = [...sets.keys()].join(", ") || "none";
          const why = `${what} from counter set ${counterSet}, which no slice has: there are ${all}`;
          problems.push(invalid(slice, `${path}.counterSet`, name, why));
          return;
        }
        for (const counter of Object.keys(counters ?? {})) {
          if (known.has(counter)) continue;
          const why = `${what} counter ${counter}, which counter set ${counterSet} does not have: there are ${[...known].join(", ")}`;
          problems.push(invalid(slice, `${path}.counters[${counter}]`, name, why));
        }
      });
    });
  }
  return problems;
}
