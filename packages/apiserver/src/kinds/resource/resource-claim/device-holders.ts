import type { DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { ResourceCache } from "../../../storage/cache.ts";

/** A device that a claim has, by the key of the claim. Allocations with admin access are not counted. */
export interface Holding {
  readonly claim: string;
  /** `driver/pool/device` */
  readonly device: string;
  /** Which share of it; undefined: the whole (KEP-5075, consumable capacity). */
  readonly share: string | undefined;
  readonly result: DeviceRequestAllocationResult;
}

/** A device that a claim cannot have. */
export interface TakenDevice {
  readonly device: string;
  /** The key of the claim that has it. */
  readonly holder: string;
  /** The holder has a share, and the claim wants the whole. */
  readonly shared: boolean;
}

/**
 * Which claims have which devices: those of the watch cache, kept up to date event by event, and those of
 * writes whose outcome is not in the cache yet.
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
   * What a write would give to the claim `key`. What the claim has already is not given: a claim that has a
   * device wrongly can still be changed, and give it back.
   */
  gained(key: string, object: object): Holding[] {
    const before = this.#claims.get(key) ?? [];
    return holdingsOf(key, object).filter(
      ({ device, share }) => !before.some((own) => own.device === device && own.share === share),
    );
  }

  /** The first device of these that another claim has. */
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

  /** Holds them, beside what is in the cache, until the function that it returns is called. */
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
