import type { Clock, Log } from "@dray/client";
import type { Budget } from "@dray/streams";
import type { Authenticator } from "../authentication/authenticate.ts";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Limiter } from "../flowcontrol/limiter.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RequestInfo } from "../request/info.ts";
import type { LargeWork } from "../request/large-work.ts";

/** Dependencies of the filters. */
export interface FilterParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly authenticator: Authenticator;
  readonly authorize: (attributes: Attributes) => Decision;
  /** Impersonation requires a right for each kind of user (KEP-5284). */
  readonly constrainedImpersonation: boolean;
  readonly limiter: Limiter;
  readonly largeWork: LargeWork;
  readonly passedOn: Budget;
  readonly metrics: Metrics;
  readonly servedBy: (info: RequestInfo) => ServedResource | undefined;
  /** Request timeout in milliseconds, except for watches and other streams. */
  readonly timeout: number;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}
