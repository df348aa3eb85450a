import type { ApiRequest } from "@dray/client";

/** A request that also ends when another signal is aborted. */
export function endsWith(request: ApiRequest, end: AbortSignal): ApiRequest {
  return { ...request, signal: AbortSignal.any([request.signal, end]) };
}
