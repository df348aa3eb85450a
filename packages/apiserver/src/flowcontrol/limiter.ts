import type { ApiRequest, ApiResponse, UserInfo } from "@dray/client";
import { textResponse } from "../http/response.ts";
import type { RequestInfo } from "../request/info.ts";

/** Facts about a request that go into its answer, however it ends. */
export interface RequestNotes {
  /** Texts of Warning headers. */
  readonly warnings: Set<string>;
  /** The FlowSchema that it was classified by; absent where nothing classifies it. */
  flow?: { readonly uid: string; readonly level: { readonly uid: string } };
}

/** A request that wants a seat. */
export interface Arrival {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly notes: RequestNotes;
  /** Milliseconds that the request may take; of a watch those until it begins. */
  readonly limit: number;
}

/** Progress of a watch. Each method may be called more than once. */
export interface WatchProgress {
  /** It has sent what was there before: it needs no seat any more. */
  initialized(): void;
  ended(): void;
}

/** Requests that only read, and others. */
export type RequestKind = "readOnly" | "mutating";

/** Bounds the requests that are worked on at the same time. */
export interface Limiter {
  /** Runs `work` as soon as the request may be worked on; returns 429 if it may not. `watch` is there for watches. */
  run(arrival: Arrival, work: (watch?: WatchProgress) => Promise<ApiResponse>): Promise<ApiResponse>;
  /** Requests that are worked on. */
  count(kind: RequestKind): number;
  /** Lines of the text format of Prometheus. */
  metrics(): readonly string[];
  close(): void;
}

const readOnlyVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

export const kindOfRequest = ({ verb }: RequestInfo): RequestKind =>
  readOnlyVerbs.has(verb) ? "readOnly" : "mutating";

/** 429 in the words of kube-apiserver. */
export function tooManyRequests(retryAfter = 1): ApiResponse {
  const headers = { "retry-after": String(retryAfter) };
  return textResponse(429, "Too many requests, please try again later.\n", headers);
}
