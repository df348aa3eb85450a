import { decodeJSON, StatusError, statusCodes } from "@dray/api";
import type { Status } from "@dray/api/meta/v1";
import { withoutNulls } from "@dray/api/nulls";
import type { ApiResponse, WatchEvent } from "../transport/exchange.ts";

/** Releases a response whose body is not read. */
export async function discard(response: ApiResponse): Promise<void> {
  if (response.type === "watch") for await (const _ of response.events) break;
  if (response.type === "bytes") for await (const _ of response.chunks) break;
  if (response.type === "upgrade") response.discard();
}

/** Reads the whole body. */
export async function bytesOf(response: ApiResponse): Promise<Buffer> {
  if (response.type === "body") return Buffer.from(response.bytes());
  const parts: Uint8Array[] = [];
  if (response.type === "bytes") for await (const chunk of response.chunks) parts.push(chunk);
  else if (response.type === "watch") for await (const frame of response.events) parts.push(frame.bytes());
  else response.discard();
  return Buffer.concat(parts);
}

/** Returns the object of a response; undefined for another body, which is discarded. */
export async function objectOf(response: ApiResponse): Promise<object | undefined> {
  if (response.type === "body" && response.object !== undefined) return response.object;
  await discard(response);
  return undefined;
}

/**
 * Returns the error of a failed response. Text, such as a proxy's `404 page not found`, becomes the message.
 */
export async function errorOf(response: ApiResponse): Promise<Error> {
  if (response.type === "body" && isStatus(response.object)) return statusError(response.object);
  const text = (await bytesOf(response)).toString("utf8").trim();
  let parsed: unknown;
  try {
    parsed = decodeJSON(text);
  } catch {
    // Not JSON: the text itself is the message.
  }
  if (isStatus(parsed)) return statusError(parsed);
  const reason = Object.entries(statusCodes).find(([, code]) => code === response.status)?.[0];
  return new StatusError({
    status: "Failure",
    code: response.status,
    ...(reason === undefined || response.status === 409 ? {} : { reason }),
    message: text === "" ? `the server answered ${response.status}` : text,
  });
}

/** Returns the error of an ERROR event, whose object is a Status. */
export function eventError({ object }: WatchEvent<unknown>): StatusError {
  return statusError(object as Status);
}

function statusError(status: Status): StatusError {
  return new StatusError(withoutNulls(status, { apiVersion: "v1", kind: "Status" }));
}

function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "Status";
}
