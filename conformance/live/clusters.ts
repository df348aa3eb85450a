import type { Random } from "@dray/testing/random";
import { randomClaim, randomClass } from "./claims.ts";
import { type Plan, randomPool, type Slice } from "./pools.ts";

/** The fields of structured.Features, by the implementation that they need at least. */
const featuresOf = {
  stable: ["AdminAccess", "DeviceTaints", "PartitionableDevices", "PrioritizedList"],
  incubating: ["ConsumableCapacity", "DeviceBindingAndStatus", "FractionalCapacityRange"],
  experimental: ["CompatibilityGroups", "DerivedAttributes", "ListTypeAttributes", "OptionalNodeOperations"],
};
type Variant = keyof typeof featuresOf;

/** A random question to the allocator: some features, a node, claims, classes, slices, and what is taken. */
export function randomCluster(random: Random): Record<string, unknown> {
  const variant: Variant = random.pick(["stable", "incubating", "experimental", "experimental"]);
  const features = randomFeatures(random, variant);
  // Upstream's stable variant takes several pools in random order.
  const sorted = features.some((name) => !featuresOf.stable.includes(name));
  const on = new Set(features);
  // The stable variant has no such constraint.
  if (sorted) on.add("distinctAttribute");
  const wild = random.chance(0.3);
  // Objects may use features that are off: then upstream refuses or ignores them, each in its own way.
  const has = (feature: string): boolean => random.chance(on.has(feature) ? 0.5 : wild ? 0.03 : 0);
  const pools = random.list(1, sorted ? 4 : 1, (i) => ({
    name: `${random.pick(["p", "q", "P"])}${i}`,
    driver: random.pick(["gpu.test", "nic.test", "fpga.test"]),
  }));
  const drivers = [...new Set(pools.map(({ driver }) => driver))];
  const plan: Plan = { random, drivers, has, wild };
  const slices = random.shuffled(pools.flatMap(({ driver, name }) => randomPool(plan, driver, name)));
  const names = new Map<string, number>();
  const unique = slices.map((slice) => {
    const { name } = slice.metadata as { name: string };
    const times = names.get(name) ?? 0;
    names.set(name, times + 1);
    return times === 0 ? slice : { ...slice, metadata: { name: `${name}-${times}` } };
  });
  return {
    features,
    node: {
      metadata: { name: "node-1", labels: { "kubernetes.io/hostname": "node-1", zone: "a", rack: "7" } },
      ...(random.chance(0.5) && { status: { declaredFeatures: ["DRAOptionalNodeOperations"] } }),
    },
    claims: random.list(1, random.pick([1, 2, 3]), (i) => randomClaim(plan, i)),
    classes: [...drivers.map((driver) => randomClass(plan, driver)), { metadata: { name: "any" }, spec: {} }],
    slices: unique,
    allocated: randomAllocated(random, unique, on.has("ConsumableCapacity")),
  };
}

function randomFeatures(random: Random, variant: Variant): string[] {
  const { stable, incubating, experimental } = featuresOf;
  const some = (names: readonly string[]): string[] => random.some(names, 0.75);
  if (variant === "stable") return some(stable);
  if (variant === "incubating") return [...some(stable), ...some(incubating)];
  return [...some(stable), ...some(incubating), ...some(experimental)];
}

/** Some devices are taken: those that can be shared in shares, the others as a whole. */
function randomAllocated(random: Random, slices: readonly Slice[], shares: boolean): object {
  const devices: string[] = [];
  const shared: string[] = [];
  const capacity: Record<string, object> = {};
  const often = random.pick([0, 0, 0.1, 0.3]);
  for (const { spec } of slices) {
    const { driver, pool } = spec as { driver: string; pool: { name: string } };
    const published = (spec["devices"] ?? []) as {
      name: string;
      allowMultipleAllocations?: boolean;
      capacity?: object;
    }[];
    for (const device of published) {
      const id = `${driver}/${pool.name}/${device.name}`;
      if (!random.chance(often) || id in capacity) continue;
      // A scheduler knows of no shares while the feature is off.
      if (device.allowMultipleAllocations !== true || !shares) devices.push(id);
      else {
        shared.push(`${id}/00000000-0000-4000-9000-00000000000${shared.length % 10}`);
        if (device.capacity !== undefined) capacity[id] = { mem: random.pick(["1Gi", "3Gi", "8Gi"]) };
      }
    }
  }
  return { devices: [...new Set(devices)], shared, capacity };
}
