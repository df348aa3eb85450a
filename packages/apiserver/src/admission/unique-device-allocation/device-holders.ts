import type { DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { ResourceCache } from "../../storage/cache.ts";

/** An allocated device, with the key of its claim. Allocations with admin access are not counted. */
export interface Holding {
  readonly claim: string;
  /** `driver/pool/device` */
  readonly device: string;
  /** Share of the device; undefined for the whole device (KEP-5075, consumable capacity). */
  readonly share: string | undefined;
  readonly result: DeviceRequestAllocationResult;
}

/** A conflict over a device. */
export interface TakenDevice {
  readonly device: string;
  /** Key of the claim that holds the device. */
  readonly holder: string;
  /** The holder has a share, and the claim requests the whole device. */
  readonly shared: boolean;
}

/**
 * Allocated devices of claims: those of the watch cache, updated by each event, and those of writes whose
 * outcome is not in the cache yet.
 */
export class DeviceHolders {
  readonly #claims = new Map<string, readonly Holding[]>();
  readonly #devices = new Map<string, Set<Holding>>();

  constructor(cache: ResourceCache) {
    for (const { key, object } of cache.range(cache.prefix)) this.#set(key, holdingsOf(key, object));
    cache.subscribe(({ type, key, object }) =>
      this.#set(key, type === "DELETED" ? [] : holdingsOf(key, object)),
    );
  }

  /**
   * Returns the devices that a write adds to the claim `key`. Devices that the claim has already are not
   * counted: a claim that wrongly holds a device can still be changed, and release it.
   */
  gained(key: string, object: object): Holding[] {
    const before = this.#claims.get(key) ?? [];
    return holdingsOf(key, object).filter(
      ({ device, share }) => !before.some((own) => own.device === device && own.share === share),
    );
  }

  /** Returns the first of these devices that another claim holds. */
  taken(gained: readonly Holding[]): TakenDevice | undefined {
    for (const wanted of gained) {
      for (const { claim, device, share } of this.#devices.get(wanted.device) ?? []) {
        const areShares = share !== undefined && wanted.share !== undefined;
        if (claim !== wanted.claim && !areShares)
          return { device, holder: claim, shared: share !== undefined };
      }
    }
    return undefined;
  }

  /** Reserves the devices, in addition to those in the cache, until the returned function is called. */
  reserve(gained: readonly Holding[]): () => void {
    for (const holding of gained) this.#add(holding);
    return () => {
      for (const holding of gained) this.#remove(holding);
    };
  }

  #set(key: string, holdings: readonly Holding[]): void {
    for (const holding of this.#claims.get(key) ?? []) this.#remove(holding);
    for (const holding of holdings) this.#add(holding);
    if (holdings.length > 0) this.#claims.set(key, holdings);
    else this.#claims.delete(key);
  }

  #add(holding: Holding): void {
    const holders = this.#devices.get(holding.device);
    if (holders === undefined) this.#devices.set(holding.device, new Set([holding]));
    else holders.add(holding);
  }

  #remove(holding: Holding): void {
    const holders = this.#devices.get(holding.device);
    if (holders?.delete(holding) && holders.size === 0) this.#devices.delete(holding.device);
  }
}

function holdingsOf(claim: string, object: object): Holding[] {
  return ((object as ResourceClaim).status?.allocation?.devices?.results ?? [])
    .filter(({ adminAccess }) => adminAccess !== true)
    .map((result) => ({
      claim,
      device: `${result.driver}/${result.pool}/${result.device}`,
      share: result.shareID,
      result,
    }));
}
