import type { ApiRequest, ApiResponse, Clock, Log } from "@dray/client";
import type { ServedResource } from "../kinds/resources.ts";
import type { RequestInfo } from "../request/info.ts";
import type { Storage } from "../storage/storage.ts";
import { Configuration } from "./configuration.ts";
import { DanglingConditions } from "./dangling.ts";
import { dumpText } from "./dump.ts";
import { WorkEstimator } from "./estimate.ts";
import { FlowControl } from "./flow-control.ts";
import type { Limiter } from "./limiter.ts";
import { type Limits, MaxInFlightLimiter } from "./max-in-flight.ts";

/** Dependencies of API Priority and Fairness. */
export interface FlowControlParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Limits;
  /** False: two max-in-flight limits apply instead (--enable-priority-and-fairness). */
  readonly isEnabled: boolean;
  readonly servedBy: (info: RequestInfo) => ServedResource | undefined;
  /** Sends a request to the server itself. */
  readonly send: (request: ApiRequest) => Promise<ApiResponse>;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** The limiter of a server, and its debug pages. */
export interface RequestControl {
  readonly limiter: Limiter;
  /** Returns the text of a page below `/debug/api_priority_and_fairness/`; undefined for another path. */
  readonly dump: (path: string, query: URLSearchParams) => string | undefined;
  /** Starts to update the conditions of FlowSchemas. */
  start(): void;
}

/** Throws a TypeError if the limits leave no seat. */
export function createRequestControl(parts: FlowControlParts): RequestControl {
  const { storage, clock, log, limits, isEnabled, servedBy, send, signal } = parts;
  if (!isEnabled) return { limiter: new MaxInFlightLimiter(limits), dump: () => undefined, start() {} };
  const seats = limits.readOnly + limits.mutating;
  if (seats <= 0) {
    throw new TypeError(
      "maxRequestsInFlight and maxMutatingRequestsInFlight must add up to more than 0 with priorityAndFairness",
    );
  }
  const configuration = new Configuration(storage, clock, seats);
  const limiter = new FlowControl(configuration, new WorkEstimator(storage, clock, servedBy), clock);
  return {
    limiter,
    dump: (path, query) => dumpText(configuration, path, query),
    start: () => new DanglingConditions({ configuration, storage, send, clock, log, signal }).schedule(),
  };
}
