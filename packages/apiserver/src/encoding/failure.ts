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
 * The answer to a request that went wrong: a Status, in the form that the client accepts. What is no StatusError is a
 * fault of ours: it is logged and answered 500. `warnings` came up before.
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
    return encoded(status.code ?? 500, object, accepted, headers);
  } catch (second) {
    log.error({ error: second }, "a Status could not be encoded");
    return bodyResponse(500, { "content-type": "application/json" }, () => `${encodeJSON(object)}\n`, object);
  }
}

const plainText = { "content-type": "text/plain; charset=utf-8" };

/** What upstream says in plain text, since it knows nothing yet of what is asked for. */
function unreadPath({ url }: Failed, error: unknown): ApiResponse | undefined {
  // This is Go's HTTP server itself, which also gives up the connection.
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

/** Whether the stack could not hold the nesting of what was sent: a mistake of the client. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}
