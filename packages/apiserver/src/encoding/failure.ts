import { quoted, StatusError } from "@dray/api";
import type { ApiRequest, ApiResponse, Log } from "@dray/client";
import { statusObject } from "../errors/status.ts";
import { bodyResponse } from "../http/response.ts";
import { headersOf } from "../http/warnings.ts";
import { negotiate, noForms } from "../request/accept.ts";
import { BadPath, UnknownPath } from "../request/info.ts";
import { encodeJSON } from "./codec.ts";
import { encoded } from "./representation.ts";

type Failed = Pick<ApiRequest, "method" | "url" | "headers">;

/**
 * Returns the response for an error: a Status, in the encoding that the client accepts. Errors other than
 * StatusError are internal: they are logged, with status 500. `warnings`: warnings before the error.
 */
export function failureResponse(
  request: Failed,
  error: unknown,
  warnings: ReadonlySet<string>,
  log: Log,
): ApiResponse {
  const unread = unreadPath(request, error);
  if (unread !== undefined) return unread;
  const status = statusOf(request, error, log);
  const object = Object.freeze(statusObject(status));
  const accepted = negotiate(request, noForms) ?? ({ mediaType: "application/json", pretty: true } as const);
  const retry = status.details?.retryAfterSeconds;
  const headers = {
    ...(retry ? { "retry-after": String(retry) } : {}),
    ...headersOf({ warnings }),
  };
  try {
    return encoded(status.code ?? 500, object, accepted, { headers });
  } catch (second) {
    log.error({ error: second }, "a Status could not be encoded");
    return bodyResponse(500, { "content-type": "application/json" }, () => `${encodeJSON(object)}\n`, object);
  }
}

const plainText = { "content-type": "text/plain; charset=utf-8" };

/** Errors for which upstream responds with plain text, because the encoding is not negotiated yet. */
function unreadPath({ url }: Failed, error: unknown): ApiResponse | undefined {
  // This response comes from Go's HTTP server, which also closes the connection.
  if (error instanceof BadPath) {
    return bodyResponse(400, { ...plainText, connection: "close" }, () => "400 Bad Request");
  }
  if (!(error instanceof UnknownPath)) return undefined;
  const text = `Internal Server Error: ${quoted(url)}: failed to create RequestInfo: ${error.message}\n`;
  return bodyResponse(500, { ...plainText, "x-content-type-options": "nosniff" }, () => text);
}

function statusOf(request: Failed, error: unknown, log: Log): Partial<StatusError["status"]> {
  if (error instanceof StatusError) return error.status;
  if (isTooDeep(error)) return StatusError.of("BadRequest", "exceeded max depth").status;
  log.error({ error, method: request.method, url: request.url }, "a request has failed");
  return {
    status: "Failure",
    reason: "InternalError",
    message: `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`,
    code: 500,
  };
}

/** Reports whether the nesting of the request has overflowed the stack: an error of the client. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}
