import type { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { type PreparedClaim, prepareClaim } from "./prepared-claims.ts";
import type { SelectorCache } from "./selectors.ts";

/** Maximum number of cached claims. */
const maxClaims = 1024;

export interface ClaimCacheOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly selectors: SelectorCache;
}

/** Prepares claims: a claim is asked for again on each node. The oldest cached claim is removed first. */
export class ClaimCache {
  readonly #options: ClaimCacheOptions;
  readonly #classes = new Map<string, DeviceClass>();
  readonly #claims = new Map<ResourceClaim, PreparedClaim>();
  #generation = 0;

  constructor(options: ClaimCacheOptions) {
    this.#options = options;
  }

  class(name: string): DeviceClass | undefined {
    return this.#classes.get(name);
  }

  setClass(object: DeviceClass, deleted: boolean): void {
    if (deleted) this.#classes.delete(object.metadata.name);
    else this.#classes.set(object.metadata.name, object);
    this.#claims.clear();
  }

  prepare(claim: ResourceClaim): PreparedClaim {
    const { selectors } = this.#options;
    // Selectors of an older generation no longer store verdicts.
    if (this.#generation !== selectors.generation) {
      this.#claims.clear();
      this.#generation = selectors.generation;
    }
    let prepared = this.#claims.get(claim);
    if (prepared === undefined) {
      prepared = prepareClaim(claim, { ...this.#options, classes: this.#classes });
      const [oldest] = this.#claims.keys();
      if (oldest !== undefined && this.#claims.size >= maxClaims) this.#claims.delete(oldest);
      this.#claims.set(claim, prepared);
    }
    return prepared;
  }
}
