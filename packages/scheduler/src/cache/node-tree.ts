import type { Node } from "@dray/api/core/v1";

const zoneLabels = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
const regionLabels = ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];

/**
 * The same for nodes of one zone, "" for those of none. Upstream: component-helpers/node/topology,
 * GetZoneKey.
 */
export function zoneOf({ metadata }: Node): string {
  const labels = metadata.labels ?? {};
  const first = (names: readonly string[]): string => names.map((name) => labels[name]).find(Boolean) ?? "";
  const [region, zone] = [first(regionLabels), first(zoneLabels)];
  return region === "" && zone === "" ? "" : `${region}\0${zone}`;
}

/**
 * Orders nodes round-robin over zones, so that a search that stops early has seen all zones.
 * Upstream: pkg/scheduler/backend/cache/node_tree.go.
 */
export function interleaveZones<T extends { readonly node: Node }>(nodes: Iterable<T>): readonly T[] {
  const zones = new Map<string, T[]>();
  let count = 0;
  for (const info of nodes) {
    const zone = zoneOf(info.node);
    const known = zones.get(zone);
    if (known === undefined) zones.set(zone, [info]);
    else known.push(info);
    count++;
  }
  const lists = [...zones.values()];
  if (lists.length <= 1) return lists[0] ?? [];
  const all: T[] = [];
  for (let turn = 0; all.length < count; turn++) {
    for (const list of lists) {
      const info = list[turn];
      if (info !== undefined) all.push(info);
    }
  }
  return all;
}
