import type { ApiRequest, ApiResponse } from "@dray/client";
import { bodyResponse } from "../http/response.ts";
import { acceptClauses } from "../request/accept.ts";

/** A document in one form, and since when it is what it is. */
export interface Content {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** The same for all forms of a document. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/** The answer with a document, or 304 to who has it already (RFC 9110, section 13). */
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
  const asked = request.headers["if-none-match"];
  const since = Date.parse(request.headers["if-modified-since"] ?? "");
  // Times are told in whole seconds, and a tag says more than they do.
  const known = asked === undefined ? modified < since + 1000 : matches(asked, hash);
  if (known) return bodyResponse(304, headers, () => "");
  return bodyResponse(200, { ...headers, "content-type": mediaType }, () => bytes);
}

function matches(header: string, hash: string): boolean {
  if (header.trim() === "*") return true;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${hash}"`);
}

/** The first of these types that the client accepts, in the order of its wishes; undefined where it takes none. */
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
