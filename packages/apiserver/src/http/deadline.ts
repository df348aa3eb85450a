import { DurationError, parseDuration, StatusError } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock } from "@dray/client";
import { textResponse } from "./response.ts";

const message = "Timeout: request did not complete within the allotted timeout";
/** Sent as text, as upstream, which has not negotiated an encoding here. */
const body = JSON.stringify({
  metadata: {},
  status: "Failure",
  message,
  reason: "Timeout",
  details: {},
  code: 504,
});

/**
 * Returns the timeout of a request in milliseconds: its parameter `timeout`, at most `maxTimeout`. Throws
 * 400.
 */
export function timeLimit(query: URLSearchParams, maxTimeout: number): number {
  const text = query.get("timeout");
  if (!text) return maxTimeout;
  try {
    const requested = Number(parseDuration(text)) / 1e6;
    return requested > 0 && requested < maxTimeout ? requested : maxTimeout;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw StatusError.of("BadRequest", `invalid timeout specified in the request URL - ${error.message}`);
  }
}

/**
 * Responds with 504 if the response has not begun within the timeout; the signal of the request aborts its
 * work.
 */
export async function respondWithin(
  clock: Clock,
  milliseconds: number,
  request: ApiRequest,
  answer: (request: ApiRequest) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const timed = new TimedRequest(request);
  const late = Promise.withResolvers<ApiResponse>();
  const cancel = clock.after(milliseconds, () => {
    timed.end();
    late.resolve(textResponse(504, `${body}\n`));
  });
  try {
    return await Promise.race([answer(timed), late.promise]);
  } finally {
    cancel();
  }
}

/** A request that also aborts when its time is over. */
class TimedRequest implements ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: ApiRequest["headers"];
  readonly repeated?: NonNullable<ApiRequest["repeated"]>;
  readonly body?: NonNullable<ApiRequest["body"]>;
  readonly credential: ApiRequest["credential"];
  readonly #request: ApiRequest;
  #isOver = false;
  #over: AbortController | undefined;
  #signal: AbortSignal | undefined;

  constructor(request: ApiRequest) {
    this.method = request.method;
    this.url = request.url;
    this.headers = request.headers;
    if (request.repeated !== undefined) this.repeated = request.repeated;
    if (request.body !== undefined) this.body = request.body;
    this.credential = request.credential;
    this.#request = request;
  }

  /** Created on first use: few requests use their signal, and joining two is not free. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#over = new AbortController();
      if (this.#isOver) this.#over.abort();
      this.#signal = AbortSignal.any([this.#request.signal, this.#over.signal]);
    }
    return this.#signal;
  }

  end(): void {
    this.#isOver = true;
    this.#over?.abort();
  }
}
