import { Quantity } from "@dray/api";
import type { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import {
  currentSlices,
  deviceId,
  type Holder,
  idOf,
  type KnownDevice,
  resultsOf,
} from "../inventory/devices.ts";
import { checkPools } from "../manifests/pools.ts";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import { type Finding, finding, type Snapshot } from "./finding.ts";
import { freeDevices } from "./release.ts";

/** A device and its claims. Admin access takes no device (KEP-5018). */
export interface HeldDevice {
  /** `driver/pool/device` */
  readonly id: string;
  readonly holders: readonly { readonly claim: ResourceClaim; readonly share: string | undefined }[];
}

/**
 * Returns devices with several claims, at least one of them exclusive. The chaos test checks the same
 * invariant (KEP-4381; shares: KEP-5075).
 */
export function devicesGivenTwice(claims: readonly ResourceClaim[]): HeldDevice[] {
  const held = new Map<string, HeldDevice["holders"][number][]>();
  for (const claim of claims)
    for (const result of resultsOf(claim)) {
      if (result.adminAccess === true) continue;
      const id = idOf(result);
      held.set(id, [...(held.get(id) ?? []), { claim, share: result.shareID }]);
    }
  return [...held].flatMap(([id, holders]) => {
    const alone = holders.some(({ share }) => share === undefined);
    const shares = new Set(holders.map(({ share }) => share));
    const isTwice = holders.length > 1 && (alone || shares.size < holders.length);
    return isTwice ? [{ id, holders }] : [];
  });
}

export function checkGivenTwice({ world }: Snapshot): Finding[] {
  const claims = world.all("ResourceClaim").map(({ object }) => object);
  return devicesGivenTwice(claims).map(({ id, holders }) => {
    // The latest claim must give way.
    const ordered = holders
      .map(({ claim }) => claim)
      .toSorted((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
    // A device that is given twice has two holders or more.
    const last = ordered.at(-1)!;
    const others = names([...new Set(ordered.slice(0, -1).map(nameText))]);
    const evidence = holders.map(
      ({ claim, share }) =>
        `${nameText(claim)} has it ${share === undefined ? "for itself" : `as share ${share}`}${usersText(claim)}`,
    );
    return finding("device-given-twice", last, `has device ${id}, which ${others} has too`, {
      evidence,
      fix: freeDevices(last, world),
    });
  });
}

const nameText = ({ metadata }: ResourceClaim): string => `${metadata.namespace}/${metadata.name}`;

const podsOf = ({ status }: ResourceClaim): string[] =>
  (status?.reservedFor ?? []).flatMap(({ resource, name }) => (resource === "pods" ? name : []));

const usersText = (claim: ResourceClaim): string => {
  const pods = podsOf(claim);
  return pods.length === 0 ? "" : `, for pods ${names(pods)}`;
};

/** Finds shares that together exceed the capacity of the device. */
export function checkCapacity(
  { world }: Pick<Snapshot, "world">,
  devices: readonly KnownDevice[],
): Finding[] {
  return devices.flatMap((known) => {
    const { id, device, holders, slice } = known;
    const shares = holders.filter(({ adminAccess, shareID }) => !adminAccess && shareID !== undefined);
    return Object.entries(device.capacity ?? {}).flatMap(([key, { value }]) => {
      const taken = shares.flatMap((holder) => {
        const amount = holder.consumedCapacity?.[key];
        return amount === undefined ? [] : [{ holder, amount: Quantity.parse(amount) }];
      });
      const sum = taken.reduce((total, { amount }) => total.add(amount), Quantity.of(0));
      if (sum.compare(Quantity.parse(value)) <= 0) return [];
      const evidence = [
        `${key} of the device is ${value}`,
        ...taken.map(({ holder, amount }) => `${holder.claim} consumes ${amount}`),
      ];
      const message = `device ${id}: its shares consume ${sum} of ${key}, and it has ${value}`;
      const fix = taken.slice(-1).flatMap(({ holder }) => fixOf(holder, world));
      return [finding("capacity-overdrawn", slice, message, { evidence, fix })];
    });
  });
}

function fixOf({ claim }: Holder, world: World): string[] {
  const object = world.find("ResourceClaim", claim);
  return object === undefined ? [] : freeDevices(object, world);
}

/** Finds counters that allocated devices overdraw; a shared device consumes its counters once (KEP-4815). */
export function checkCounters(
  { world }: Pick<Snapshot, "world">,
  devices: readonly KnownDevice[],
): Finding[] {
  const slices = currentSlices(world);
  const pools = Map.groupBy(devices, ({ driver, pool }) => `${driver}/${pool}`);
  return slices.flatMap((slice) =>
    (slice.spec.sharedCounters ?? []).flatMap(({ name: set, counters }) =>
      Object.entries(counters ?? {}).flatMap(([counter, { value }]) => {
        const pool = pools.get(`${slice.spec.driver}/${slice.spec.pool.name}`) ?? [];
        const consumers = pool.flatMap((known) => {
          const holders = known.holders.filter(({ adminAccess }) => !adminAccess);
          const amount = (known.device.consumesCounters ?? []).find(({ counterSet }) => counterSet === set)
            ?.counters?.[counter]?.value;
          if (holders.length === 0 || amount === undefined) return [];
          return [{ known, holders, amount: Quantity.parse(amount) }];
        });
        const sum = consumers.reduce((total, { amount }) => total.add(amount), Quantity.of(0));
        if (sum.compare(Quantity.parse(value)) <= 0) return [];
        const evidence = [
          `counter ${counter} of set ${set} is ${value}`,
          ...consumers.map(
            ({ known, holders, amount }) =>
              `${known.device.name} consumes ${amount}: ${names([...new Set(holders.map(({ claim }) => claim))])} ${holders.length === 1 ? "has" : "have"} it`,
          ),
        ];
        const message = `pool ${slice.spec.pool.name}: devices that are allocated consume ${sum} of counter ${counter} of set ${set}, and there is ${value}`;
        return [
          finding("counter-overdrawn", slice, message, {
            evidence,
            fix: consumers.slice(-1).flatMap(({ holders }) => fixOf(holders[0]!, world)),
          }),
        ];
      }),
    ),
  );
}

/** Finds devices of claims that no slice publishes. Skips incomplete and invalid pools. */
export function checkPublished({ world, features }: Snapshot, devices: readonly KnownDevice[]): Finding[] {
  const known = new Set(devices.map(({ id }) => id));
  const broken = new Set(checkPools(world, features).map(({ slice }) => poolText(slice.object)));
  const slices = currentSlices(world);
  return world.all("ResourceClaim").flatMap(({ object: claim }) => {
    const missing = resultsOf(claim).filter(
      (result) => !known.has(idOf(result)) && !broken.has(`${result.driver}/${result.pool}`),
    );
    if (missing.length === 0) return [];
    const evidence = missing.map(({ driver, pool, device }) => {
      const own = slices.filter((slice) => poolText(slice) === `${driver}/${pool}`);
      const ofDriver = slices.filter(({ spec }) => spec.driver === driver);
      const there =
        own.length > 0
          ? `the pool has ${names(own.flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name)))}`
          : ofDriver.length > 0
            ? `driver ${driver} has no such pool: it has ${names([...new Set(ofDriver.map(({ spec }) => spec.pool.name))])}`
            : `no slice is of driver ${driver}`;
      return `${deviceId(driver, pool, device)}: ${there}`;
    });
    const what = missing.length === 1 ? `device ${idOf(missing[0]!)}` : `${missing.length} devices`;
    const fix = freeDevices(claim, world);
    return [
      finding("device-not-published", claim, `has ${what}, which no ResourceSlice publishes`, {
        evidence,
        fix: ["kubectl get resourceslices", ...fix],
      }),
    ];
  });
}

const poolText = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;
