import type { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { type PreparedClaim, prepareClaim } from "./prepared-claims.ts";
import type { SelectorCache } from "./selectors.ts";

export interface ClaimCacheOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly selectors: SelectorCache;
}

/** Prepares claims: a claim is asked for again on each node, and is forgotten with its object. */
export class ClaimCache {
  readonly #options: ClaimCacheOptions;
  readonly #classes = new Map<string, DeviceClass>();
  #claims = new WeakMap<ResourceClaim, PreparedClaim>();
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
    this.#claims = new WeakMap();
  }

  prepare(claim: ResourceClaim): PreparedClaim {
    const { selectors } = this.#options;
    // Selectors of an older generation no longer store verdicts.
    if (this.#generation !== selectors.generation) {
      this.#claims = new WeakMap();
      this.#generation = selectors.generation;
    }
    let prepared = this.#claims.get(claim);
    if (prepared === undefined) {
      prepared = prepareClaim(claim, { ...this.#options, classes: this.#classes });
      this.#claims.set(claim, prepared);
    }
    return prepared;
  }
}
