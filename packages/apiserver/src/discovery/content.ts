import type { ApiRequest, ApiResponse } from "@dray/client";
import { bodyResponse } from "../http/response.ts";
import { acceptClauses } from "../request/accept.ts";

/** A document in one encoding, and the time of its last change. */
export interface Content {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** Equal for all encodings of a document. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/** Returns the response with a document, or 304 if the client has it already (RFC 9110, section 13). */
export function contentResponse(
  request: ApiRequest,
  { bytes, mediaType, hash, modified }: Content,
  more: Readonly<Record<string, string>>,
): ApiResponse {
  const headers = {
    "cache-control": "no-cache, private",
    "last-modified": new Date(modified).toUTCString(),
    etag: `"${hash}"`,
    ...more,
  };
  const ifNoneMatch = request.headers["if-none-match"];
  const since = Date.parse(request.headers["if-modified-since"] ?? "");
  // Times have whole seconds, so an ETag takes precedence.
  const isCurrent = ifNoneMatch === undefined ? modified < since + 1000 : matches(ifNoneMatch, hash);
  if (isCurrent) return bodyResponse(304, headers, () => "");
  return bodyResponse(200, { ...headers, "content-type": mediaType }, () => bytes);
}

function matches(header: string, hash: string): boolean {
  if (header.trim() === "*") return true;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${hash}"`);
}

/**
 * Returns the first acceptable type in the client's order of preference; undefined if no type is acceptable.
 */
export function acceptedType<Type extends string>(
  { headers }: ApiRequest,
  types: readonly Type[],
): Type | undefined {
  for (const { type } of acceptClauses(headers["accept"])) {
    const found = types.find((one) => type === "*/*" || type === one || type === `${one.split("/")[0]}/*`);
    if (found !== undefined) return found;
  }
  return undefined;
}
