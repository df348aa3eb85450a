import type { ApiRequest, ApiResponse, UserInfo } from "@dray/client";
import type { RequestNotes, WatchProgress } from "../flowcontrol/limiter.ts";
import type { RequestInfo } from "../request/info.ts";

/** A request in the filter chain. Each filter sets its results for the filters behind it. */
export class Call {
  /** A filter may replace it by a request that aborts earlier. */
  request: ApiRequest;
  /** Milliseconds since the epoch. */
  readonly began: number;
  readonly notes: RequestNotes = { warnings: new Set() };
  /** Request timeout in milliseconds; for a watch, the time until it begins. Set by `withTimeout`. */
  limit = 0;
  /** Milliseconds for which the request waited for a seat. */
  waited = 0;
  /** The server has ended the request to protect itself: it was late, or got no seat. */
  terminated = false;
  /** Progress of a watch that holds a seat. Set by `withPriorityAndFairness`. */
  watch: WatchProgress | undefined;
  /** Undefined until `withRequestInfo` has parsed the path. */
  parsed: RequestInfo | undefined;
  #user: UserInfo | undefined;

  constructor(request: ApiRequest, began: number) {
    this.request = request;
    this.began = began;
  }

  /** The parsed request. Throws a TypeError before `withRequestInfo`. */
  get info(): RequestInfo {
    if (this.parsed === undefined) throw new TypeError("the path of the request has not been read yet");
    return this.parsed;
  }

  /** The requesting or impersonated user. Throws a TypeError before `withAuthentication`. */
  get user(): UserInfo {
    if (this.#user === undefined) throw new TypeError("the request has not been authenticated yet");
    return this.#user;
  }

  set user(user: UserInfo) {
    this.#user = user;
  }
}

/** Handles a call. It may throw a StatusError or reject with one. */
export type CallHandler = (call: Call) => Promise<ApiResponse>;

/** Wraps a handler in one step before or after it. */
export type Filter = (next: CallHandler) => CallHandler;
