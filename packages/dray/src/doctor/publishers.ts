import type { ResourceSlice } from "@dray/api/resource/v1";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import { isDriverPod, isReady, setOf } from "./driver-pods.ts";
import { type Finding, finding, type Snapshot, word } from "./finding.ts";

/** The slices of a pool, of all generations. */
interface Pool {
  readonly driver: string;
  readonly name: string;
  readonly slices: readonly ResourceSlice[];
}

/**
 * Finds pools that several publishers write. The name of a pool belongs to one publisher: another one takes
 * its slices for a generation of its own. Upstream: k8s.io/dynamic-resource-allocation/resourceslice,
 * Controller.syncPool; resource/v1 ResourcePool.name.
 */
export function checkPublishers({ world }: Snapshot): Finding[] {
  return poolsOf(world).flatMap((pool) => {
    const why = publishersOf(pool, world);
    const [first] = pool.slices;
    if (why.length === 0 || first === undefined) return [];
    const { driver, name, slices } = pool;
    const evidence = [...why, ...driverPods(slices, world)];
    const fix = [
      `kubectl get resourceslices --field-selector=spec.driver=${word(driver)} -o wide`,
      `kubectl get resourceslices ${slices.map(({ metadata }) => word(metadata.name)).join(" ")} -o yaml --show-managed-fields`,
      "kubectl get daemonsets,deployments -A -o wide",
    ];
    const message = `pool ${driver}/${name} has several publishers`;
    return finding("pool-published-twice", first, message, { evidence, fix });
  });
}

/** Names of pools with several publishers: what else is wrong with their slices comes from that. */
export const poolsPublishedTwice = (world: World): ReadonlySet<string> =>
  new Set(
    poolsOf(world)
      .filter((pool) => publishersOf(pool, world).length > 0)
      .map(({ driver, name }) => `${driver}/${name}`),
  );

function poolsOf(world: World): Pool[] {
  const slices = world.all("ResourceSlice").map(({ object }) => object);
  const groups = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  return [...groups.values()].map((own) => {
    const { driver, pool } = own[0]!.spec;
    return {
      driver,
      name: pool.name,
      slices: own.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    };
  });
}

/** Returns what shows that a pool has several publishers; empty: one suffices. */
function publishersOf({ slices }: Pool, world: World): string[] {
  const nodes = Map.groupBy(slices, ({ spec }) => spec.nodeName);
  // A node that is gone publishes nothing: its slices are another finding.
  const live = [...nodes].filter(
    ([node]) => node === undefined || world.find("Node", node) !== undefined || !world.isReadable("Node"),
  );
  const newest = slices.filter(({ spec }) => Number(spec.pool.generation) === newestGeneration(slices));
  const announced = Math.max(...newest.map(({ spec }) => Number(spec.pool.resourceSliceCount)));
  const isConsistent = newest.length === slices.length && newest.length === announced;
  // One controller may publish slices of several nodes: then they announce each other.
  if (live.length > 1 && !isConsistent)
    return live.map(([node, own]) => `${placeText(node)}: ${slicesText(own)}`);
  const [one, other] = strangers(slices);
  if (one !== undefined && other !== undefined && !isConsistent)
    return [one, other].map((slice) => `written by ${managersOf(slice).join(", ")}: ${slicesText([slice])}`);
  if (newest.length <= announced) return [];
  return [
    `generation ${newest[0]?.spec.pool.generation} has ${newest.length} slices and announces ${announced}: one publisher never has more`,
    slicesText(newest),
  ];
}

const newestGeneration = (slices: readonly ResourceSlice[]): number =>
  slices.reduce((most, { spec }) => Math.max(most, Number(spec.pool.generation)), 0);

const placeText = (node: string | undefined): string =>
  node === undefined ? "for several nodes" : `of node ${node}`;

const slicesText = (slices: readonly ResourceSlice[]): string =>
  slices
    .slice(0, 3)
    .map(
      ({ metadata, spec: { pool } }) =>
        `${metadata.name} (generation ${pool.generation}, 1 of ${pool.resourceSliceCount})`,
    )
    .join(", ");

/** The programs that have written the slice, people among them. */
const managersOf = ({ metadata }: ResourceSlice): string[] => [
  ...new Set((metadata.managedFields ?? []).flatMap(({ manager }) => manager ?? [])),
];

/** Returns two slices without a common writer, or an empty list. */
function strangers(slices: readonly ResourceSlice[]): readonly ResourceSlice[] {
  const [first, ...others] = slices.filter((slice) => managersOf(slice).length > 0);
  if (first === undefined) return [];
  const known = new Set(managersOf(first));
  const other = others.find((slice) => !managersOf(slice).some((manager) => known.has(manager)));
  return other === undefined ? [] : [first, other];
}

/** Names the nodes of the slices on which drivers of several sets run. */
function driverPods(slices: readonly ResourceSlice[], world: World): string[] {
  const pods = world.all("Pod").map(({ object }) => object);
  const nodes = [...new Set(slices.flatMap(({ spec }) => spec.nodeName ?? []))];
  return nodes.flatMap((node) => {
    const own = pods.filter((pod) => pod.spec.nodeName === node && isDriverPod(pod) && isReady(pod));
    if (new Set(own.map(setOf)).size < 2) return [];
    const list = own.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return `pods of drivers on node ${node}: ${names(list)}`;
  });
}
