import type { ApiRequest, ApiResponse, UserInfo } from "@dray/client";
import { textResponse } from "../http/response.ts";
import type { RequestInfo } from "../request/info.ts";

/** Facts about a request that are added to its response, successful or not. */
export interface RequestNotes {
  /** Texts of Warning headers. */
  readonly warnings: Set<string>;
  /** The FlowSchema that matched; absent if requests are not classified. */
  flow?: { readonly uid: string; readonly level: { readonly uid: string } };
}

/** A request that needs a seat. */
export interface LimitedRequest {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly notes: RequestNotes;
  /** Request timeout in milliseconds; for a watch, the time until it begins. */
  readonly limit: number;
}

/** Progress of a watch. Each method may be called more than once. */
export interface WatchProgress {
  /** The initial events are sent: the watch needs no seat any more. */
  initialized(): void;
  ended(): void;
}

/** Read-only requests, and others. */
export type RequestKind = "readOnly" | "mutating";

/** Limits the number of requests in flight. */
export interface Limiter {
  /**
   * Runs `work` as soon as the request gets a seat; returns 429 if it gets none. `watch` is set for watches.
   */
  run(arrival: LimitedRequest, work: (watch?: WatchProgress) => Promise<ApiResponse>): Promise<ApiResponse>;
  /** Number of executing requests. */
  count(kind: RequestKind): number;
  /** Lines of the text format of Prometheus. */
  metrics(): readonly string[];
  close(): void;
}

const readOnlyVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

export const kindOfRequest = ({ verb }: RequestInfo): RequestKind =>
  readOnlyVerbs.has(verb) ? "readOnly" : "mutating";

/** Returns a 429 with kube-apiserver's message. */
export function tooManyRequests(retryAfter = 1): ApiResponse {
  const headers = { "retry-after": String(retryAfter) };
  return textResponse(429, "Too many requests, please try again later.\n", headers);
}
