import type { ApiRequest, ApiResponse, UserInfo } from "@dray/client";
import type { RequestNotes, WatchProgress } from "../flowcontrol/limiter.ts";
import type { RequestInfo } from "../request/info.ts";

/** A request on its way through the filters. Each sets what it finds out for those behind it. */
export class Call {
  /** A filter may replace it by one that ends earlier. */
  request: ApiRequest;
  /** Milliseconds since the epoch. */
  readonly began: number;
  readonly notes: RequestNotes = { warnings: new Set() };
  /** Milliseconds that the request may take; of a watch those until it begins. Set by `withTimeout`. */
  limit = 0;
  /** Progress of a watch that holds a seat. Set by `withPriorityAndFairness`. */
  watch: WatchProgress | undefined;
  /** Undefined until `withRequestInfo` has read the path. */
  parsed: RequestInfo | undefined;
  #user: UserInfo | undefined;

  constructor(request: ApiRequest, began: number) {
    this.request = request;
    this.began = began;
  }

  /** What the request is about. Throws a TypeError before `withRequestInfo`. */
  get info(): RequestInfo {
    if (this.parsed === undefined) throw new TypeError("the path of the request has not been read yet");
    return this.parsed;
  }

  /** The sender, or whom it impersonates. Throws a TypeError before `withAuthentication`. */
  get user(): UserInfo {
    if (this.#user === undefined) throw new TypeError("the request has not been authenticated yet");
    return this.#user;
  }

  set user(user: UserInfo) {
    this.#user = user;
  }
}

/** Answers a call. It may throw a StatusError or reject with one. */
export type CallHandler = (call: Call) => Promise<ApiResponse>;

/** Puts one step before a handler, or behind it. */
export type Filter = (next: CallHandler) => CallHandler;
