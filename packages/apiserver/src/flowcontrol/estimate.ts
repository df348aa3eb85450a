import type { Clock } from "@dray/client";
import { encodeObject } from "../encoding/codec.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { RequestInfo } from "../request/info.ts";
import type { ResourceCache } from "../storage/cache.ts";
import type { Storage } from "../storage/storage.ts";
import type { PriorityLevel } from "./priority-level.ts";
import { oneSeat, type WorkEstimate } from "./request.ts";
import { WatchTracker } from "./watchers.ts";

/** Bytes of a list per seat (bytesPerSeat); lists are always served from memory. */
const bytesPerSeat = 100_000;
const maxListBytes = 1_000_000;
const watchesPerSeat = 10;
/** Milliseconds to notify `watchesPerSeat` watches of an event (eventAdditionalDuration). */
const eventDuration = 5;
const maxMutatingSeats = 10;
/** Number of measured objects, and lifetime of their average in milliseconds. */
const sampleSize = 10;
const sampleLifetime = 60_000;

/** Average size of the objects of a resource, in bytes. */
interface Sample {
  readonly bytes: number;
  readonly until: number;
}

/**
 * Estimates how many seats a request takes.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/request: list_work_estimator.go, seatsBasedOnObjectSize;
 * mutating_work_estimator.go
 */
export class WorkEstimator {
  readonly watchers = new WatchTracker();
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #servedBy: (info: RequestInfo) => ServedResource | undefined;
  readonly #samples = new WeakMap<ResourceCache, Sample>();

  constructor(storage: Storage, clock: Clock, servedBy: (info: RequestInfo) => ServedResource | undefined) {
    this.#storage = storage;
    this.#clock = clock;
    this.#servedBy = servedBy;
  }

  estimate(info: RequestInfo, level: PriorityLevel): WorkEstimate {
    if (!info.isResource) return oneSeat;
    switch (info.verb) {
      case "list":
        return this.#list(info, level);
      case "watch":
        return sendsObjects(info) ? this.#list(info, level) : oneSeat;
      case "create":
      case "update":
      case "patch":
      case "delete":
        return this.#mutating(info, level);
      default:
        return oneSeat;
    }
  }

  #list(info: RequestInfo, level: PriorityLevel): WorkEstimate {
    const served = this.#servedBy(info);
    if (served === undefined || info.name !== "" || served.facts.createOnly || served.facts.readOnly)
      return oneSeat;
    const cache = this.#storage.cache(served.stored.resource);
    const limit = Number(info.query.get("limit")) || cache.size;
    const objects = Math.min(limit, cache.size);
    if (objects < 2) return oneSeat;
    const bytes = Math.min(objects * this.#averageBytes(cache), maxListBytes);
    const wanted = Math.ceil(bytes / bytesPerSeat);
    const seats = Math.min(wanted, level.maxRequestSeats ?? wanted);
    return seats <= 1 ? oneSeat : { initialSeats: seats, finalSeats: 0, latency: 0 };
  }

  #averageBytes(cache: ResourceCache): number {
    const now = this.#clock.now();
    const known = this.#samples.get(cache);
    if (known !== undefined && now < known.until) return known.bytes;
    let [count, length] = [0, 0];
    for (const { object } of cache.range(cache.prefix)) {
      length += encodeObject(object).length;
      if (++count === sampleSize) break;
    }
    const bytes = count === 0 ? 0 : length / count;
    this.#samples.set(cache, { bytes, until: now + sampleLifetime });
    return bytes;
  }

  #mutating(info: RequestInfo, level: PriorityLevel): WorkEstimate {
    // A token is a response, not an object: no watch gets an event.
    if (info.resource === "serviceaccounts" && info.subresource === "token") return oneSeat;
    const watches = this.watchers.count(info, watchesPerSeat);
    if (watches === 0) return oneSeat;
    const wanted = Math.ceil(watches / watchesPerSeat);
    const finalSeats = Math.min(wanted, level.maxRequestSeats ?? maxMutatingSeats, maxMutatingSeats);
    // Fewer seats are held for longer.
    return { initialSeats: 1, finalSeats, latency: (wanted * eventDuration) / finalSeats };
  }
}

/** Reports whether a watch begins with all existing objects. */
function sendsObjects({ query }: RequestInfo): boolean {
  const version = query.get("resourceVersion") ?? "";
  return version === "" || version === "0" || query.get("sendInitialEvents") === "true";
}
