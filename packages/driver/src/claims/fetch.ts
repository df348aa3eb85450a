import { StatusError } from "@dray/api";
import { ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, ConnectionError, type ResourceClient, sleep } from "@dray/client";
import type { Claim as ClaimRef } from "@dray/rpc/dra/v1";
import type { AllocatedClaim } from "../types/driver.ts";
import { allocatedClaim } from "./allocated.ts";

/**
 * Milliseconds. The kubelet gives a call 45 s, and after an error a minute and more may pass before the next:
 * an API server that restarts is waited for.
 */
const fetchTimeout = 25_000;
const retryDelays = { first: 100, last: 2000 } as const;

/** Gets claims from the API server, with retries. */
export class ClaimFetcher {
  readonly #driver: string;
  readonly #clock: Clock;
  readonly #resource: ResourceClient<ResourceClaim>;
  /** By UID: claims that are being fetched. */
  readonly #fetches = new Map<string, AbortController>();

  /** `driver` is the name of the driver whose part of an allocation is wanted. */
  constructor(driver: string, client: Client, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
    this.#resource = client.resource(ResourceClaim);
  }

  /**
   * Gets the claim that the kubelet means. Rejects if it is not allocated, if it was created anew under the
   * same name, and once `cancel` is called for it.
   */
  async fetch(ref: ClaimRef, signal: AbortSignal): Promise<AllocatedClaim> {
    const canceled = new AbortController();
    this.#fetches.set(ref.uid, canceled);
    let claim: ResourceClaim;
    try {
      claim = await this.#get(ref, AbortSignal.any([signal, canceled.signal]));
    } catch (error) {
      canceled.signal.throwIfAborted();
      throw error;
    } finally {
      this.#fetches.delete(ref.uid);
    }
    canceled.signal.throwIfAborted();
    const { uid } = claim.metadata;
    if (uid !== ref.uid) {
      throw new Error(
        `claim ${ref.namespace}/${ref.name} has UID ${uid}, not ${ref.uid}: it was deleted and created anew`,
      );
    }
    if (claim.status?.allocation === undefined) {
      throw new Error(`claim ${ref.namespace}/${ref.name} is not allocated`);
    }
    return allocatedClaim(claim, this.#driver);
  }

  /** Ends a fetch of the claim that is under way, since it is to be unprepared. */
  cancel(uid: string): void {
    this.#fetches.get(uid)?.abort(new Error("the claim is to be unprepared"));
  }

  /** True if the API server no longer has the claim. */
  async hasVanished({ uid, namespace, name }: ClaimRef): Promise<boolean> {
    try {
      return (await this.#resource.get({ namespace, name })).metadata.uid !== uid;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return true;
      throw error;
    }
  }

  async #get({ namespace, name }: ClaimRef, signal: AbortSignal): Promise<ResourceClaim> {
    const deadline = this.#clock.now() + fetchTimeout;
    for (let delay: number = retryDelays.first; ; delay = Math.min(delay * 2, retryDelays.last)) {
      try {
        return await this.#resource.get({ namespace, name }, { signal });
      } catch (error) {
        if (!isTransient(error) || signal.aborted || this.#clock.now() + delay > deadline) throw error;
        await sleep(this.#clock, delay, signal);
      }
    }
  }
}

/** True for errors of a server that is missing or not ready. */
function isTransient(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === 429 || error.code >= 500;
  return error instanceof ConnectionError;
}
