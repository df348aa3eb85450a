import { StatusError } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock } from "@dray/client";
import { DurationError, parseDuration } from "./request/duration.ts";
import { textResponse } from "./response.ts";

const message = "Timeout: request did not complete within the allotted timeout";
/** Sent as text, as upstream does where the answer that the client asked for never came. */
const body = JSON.stringify({
  metadata: {},
  status: "Failure",
  message,
  reason: "Timeout",
  details: {},
  code: 504,
});

/** How long a request may take: its parameter `timeout`, if that is shorter than `longest` (milliseconds). Throws 400. */
export function timeLimit(query: URLSearchParams, longest: number): number {
  const text = query.get("timeout");
  if (!text) return longest;
  try {
    const wanted = parseDuration(text);
    return wanted > 0 && wanted < longest ? wanted : longest;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw StatusError.of("BadRequest", `invalid timeout specified in the request URL - ${error.message}`);
  }
}

/** Answers 504 where the answer has not begun after so many milliseconds; the work for it is told by its signal. */
export async function answeredWithin(
  clock: Clock,
  milliseconds: number,
  request: ApiRequest,
  answer: (request: ApiRequest) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const over = new AbortController();
  const late = Promise.withResolvers<ApiResponse>();
  const cancel = clock.after(milliseconds, () => {
    over.abort();
    late.resolve(textResponse(504, `${body}\n`));
  });
  // Most requests never look at their signal, and joining two is not free.
  let joined: AbortSignal | undefined;
  const timed = Object.defineProperty({ ...request }, "signal", {
    enumerable: true,
    get: () => {
      joined ??= AbortSignal.any([request.signal, over.signal]);
      return joined;
    },
  });
  try {
    return await Promise.race([answer(timed), late.promise]);
  } finally {
    cancel();
  }
}
