import { allocatorFeatures, heldCapacity } from "@dray/allocator";
import { type Features, Quantity } from "@dray/api";
import type { DeviceRequest } from "@dray/api/resource/v1";
import type { World } from "../manifests/world.ts";
import { currentSlices, type KnownDevice } from "./devices.ts";
import type { OpenGroups, PackItem, PackSpace } from "./packing.ts";
import { allocatedHolders } from "./units.ts";

/** A device that a request could get. */
export interface SuppliedDevice extends PackItem {
  readonly id: string;
  /** The number of shares that are left; 1 of a device that is not shared; may be infinite. */
  readonly profit: number;
}

type ExactRequest = NonNullable<DeviceRequest["exactly"]>;

const noAmounts: ReadonlyMap<string, bigint> = new Map();

/** The rest of the devices of a cluster, and of the counters that devices share. */
export class Supply {
  readonly #known: ReadonlyMap<string, KnownDevice>;
  readonly #features: ReturnType<typeof allocatorFeatures>;
  readonly space: PackSpace;

  constructor(world: World, features: Features, known: ReadonlyMap<string, KnownDevice>) {
    this.#known = known;
    this.#features = allocatorFeatures(features);
    const allocated = [...known.values()].filter((device) => allocatedHolders(device).length > 0);
    const counters = new Map<string, bigint>();
    for (const { spec } of currentSlices(world))
      for (const { name: set, counters: totals = {} } of spec.sharedCounters ?? [])
        for (const [name, { value }] of Object.entries(totals))
          counters.set(
            `${setKey(spec.driver, spec.pool.name, set)}/${name}`,
            Quantity.parse(value).nanoValue(),
          );
    for (const device of allocated)
      for (const [name, amount] of amountsOf(device)) counters.set(name, (counters.get(name) ?? 0n) - amount);
    this.space = { counters, ...(this.#features.compatibilityGroups && { groups: openGroupsOf(allocated) }) };
  }

  /** Returns a device with what a request for it would consume. */
  of(id: string, { capacity }: Pick<ExactRequest, "capacity">): SuppliedDevice | undefined {
    const found = this.#known.get(id);
    if (found === undefined) return undefined;
    const isShared = this.#features.consumableCapacity && found.device.allowMultipleAllocations === true;
    // A device with several shares consumes its counters once (KEP-5075, KEP-4815).
    const isOpen = isShared && allocatedHolders(found).length > 0;
    return {
      id,
      profit: isShared ? this.#sharesOf(found, capacity) : 1,
      amounts: isOpen ? noAmounts : amountsOf(found),
      ...(this.#features.compatibilityGroups && !isOpen && { groups: groupsOf(found) }),
    };
  }

  /** Returns how many shares of a device are left for requests with these requirements. */
  #sharesOf(found: KnownDevice, capacity: ExactRequest["capacity"]): number {
    const { device, driver } = found;
    const held = heldCapacity({ device, driver }, capacity, this.#features);
    let shares = Number.POSITIVE_INFINITY;
    for (const [key, amount] of held ?? []) {
      const one = amount.nanoValue();
      if (one <= 0n) continue;
      const used = allocatedHolders(found).reduce((sum, { consumedCapacity }) => {
        const part = consumedCapacity?.[key];
        return part === undefined ? sum : sum + Quantity.parse(part).nanoValue();
      }, 0n);
      // The capacity is in the device, or the request could not hold it.
      const total = Quantity.parse(device.capacity![key]!.value).nanoValue();
      shares = Math.min(shares, Math.max(0, Number((total - used) / one)));
    }
    return shares;
  }
}

const setKey = (driver: string, pool: string, set: string): string => `${driver}/${pool}/${set}`;

/** Returns the counters that a device consumes (KEP-4815), by `driver/pool/set/counter`. */
function amountsOf({ driver, pool, device }: KnownDevice): ReadonlyMap<string, bigint> {
  if (device.consumesCounters === undefined) return noAmounts;
  const sum = new Map<string, bigint>();
  for (const { counterSet, counters = {} } of device.consumesCounters)
    for (const [name, { value }] of Object.entries(counters)) {
      const key = `${setKey(driver, pool, counterSet)}/${name}`;
      sum.set(key, (sum.get(key) ?? 0n) + Quantity.parse(value).nanoValue());
    }
  return sum;
}

function groupsOf({ driver, pool, device }: KnownDevice): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    (device.consumesCounters ?? []).map(({ counterSet, compatibilityGroups }) => [
      setKey(driver, pool, counterSet),
      new Set(compatibilityGroups),
    ]),
  );
}

/** Returns the groups that allocated devices leave open on each counter set (KEP-5963). */
function openGroupsOf(allocated: readonly KnownDevice[]): ReadonlyMap<string, OpenGroups> {
  const open = new Map<string, OpenGroups>();
  for (const device of allocated)
    for (const [set, groups] of groupsOf(device)) {
      const before = open.get(set);
      if (before === undefined) open.set(set, groups.size === 0 ? "none" : groups);
      else if (before !== "none" && groups.size > 0)
        open.set(set, new Set([...before].filter((group) => groups.has(group))));
    }
  return open;
}
