import type { ApiRequest } from "@dray/client";

/** Returns a request that also aborts when another signal aborts. */
export function endsWith(request: ApiRequest, end: AbortSignal): ApiRequest {
  return { ...request, signal: AbortSignal.any([request.signal, end]) };
}
