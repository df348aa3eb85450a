import { nameOf, placeText } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";

/** Warns about devices that two of the given claims have. */
export function claimWarnings(world: World): string[] {
  const holders = new Map<string, string>();
  return world.all("ResourceClaim").flatMap(({ object, place }) =>
    (object.status?.allocation?.devices?.results ?? []).flatMap((result, i) => {
      const { driver, pool, device, adminAccess, shareID } = result;
      // Admin access takes no device, and several claims can have shares of one (KEP-5018, KEP-5075).
      if (adminAccess === true || shareID !== undefined) return [];
      const name = `${driver}/${pool}/${device}`;
      const holder = holders.get(name);
      if (holder === undefined) {
        holders.set(name, nameOf(object));
        return [];
      }
      return [
        `${placeText(place)}: ResourceClaim ${nameOf(object)}: status.allocation.devices.results[${i}]: ${name} is allocated to claim ${holder}, too`,
      ];
    }),
  );
}
