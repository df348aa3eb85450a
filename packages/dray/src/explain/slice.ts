import type { ResourceSlice } from "@dray/api/resource/v1";
import { currentSlices } from "../inventory/devices.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { checkPools } from "../manifests/pools.ts";
import { counted } from "../text/words.ts";
import { countsOf, deviceRow } from "../top/rows.ts";
import type { Explained, Fact, Wait } from "./data.ts";
import { wait } from "./scene.ts";

type Report = Omit<Explained, "version" | "rights">;

/** Explains the content of a slice, and whether the scheduler uses it. */
export function explainSlice(slice: ResourceSlice, inventory: Inventory): Report {
  const { world, features } = inventory;
  const { name } = slice.metadata;
  const { driver, pool, nodeName } = slice.spec;
  const isCurrent = currentSlices(world).includes(slice);
  const units = isCurrent
    ? inventory.units.filter(({ devices }) => devices.some((device) => device.slice === slice))
    : [];
  const problems = checkPools(world, features).filter(
    ({ slice: { object } }) => object.spec.driver === driver && object.spec.pool.name === pool.name,
  );
  const waits: Wait[] = [
    ...(isCurrent
      ? []
      : [wait("pool", `pool ${driver}/${pool.name} has a newer generation than ${pool.generation}`)]),
    ...problems.map(({ message }) => wait("pool", message)),
    ...(nodeName === undefined || !world.isReadable("Node") || world.find("Node", nodeName) !== undefined
      ? []
      : [wait("node", `node ${nodeName} does not exist`, { object: `Node ${nodeName}` })]),
  ];
  const state = !isCurrent ? "outdated" : waits.length > 0 ? "unusable" : "in-use";
  const what = `${counted((slice.spec.devices ?? []).length, "device")} of driver ${driver}`;
  return {
    kind: "ResourceSlice",
    namespace: null,
    name,
    state,
    summary: `slice ${name} publishes ${what}${waits[0] === undefined ? "" : `: ${waits[0].message}`}`,
    waits,
    placement: null,
    claims: [],
    devices: units.flatMap(({ devices }) =>
      devices.filter((device) => device.slice === slice).map((device) => deviceRow(device, devices)),
    ),
    counts: countsOf(units),
    headroom: {},
    facts: factsOf(slice),
  };
}

function factsOf({ spec }: ResourceSlice): Fact[] {
  const {
    driver,
    pool,
    nodeName,
    nodeSelector,
    allNodes,
    perDeviceNodeSelection,
    sharedCounters = [],
  } = spec;
  const reach =
    nodeName !== undefined
      ? `node ${nodeName}`
      : allNodes === true
        ? "all nodes"
        : perDeviceNodeSelection === true
          ? "each device says it"
          : nodeSelector === undefined
            ? "no node"
            : "nodes that its selector chooses";
  return [
    { name: "driver", value: driver },
    {
      name: "pool",
      value: `${pool.name}, generation ${pool.generation}, ${counted(Number(pool.resourceSliceCount), "slice")}`,
    },
    { name: "for", value: reach },
    ...sharedCounters.map(({ name, counters = {} }) => ({
      name: `counters ${name}`,
      value: Object.entries(counters)
        .map(([counter, { value }]) => `${counter} ${value}`)
        .join(", "),
    })),
  ];
}
