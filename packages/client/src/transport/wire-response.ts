import { decodeJSON, deepFreeze, type KubeObject } from "@dray/api";
import { aborted, errorText, type RawResponse } from "./connection.ts";
import {
  type ApiRequest,
  type ApiResponse,
  ConnectionError,
  type WatchEvent,
  type WatchFrame,
} from "./exchange.ts";
import { lines } from "./lines.ts";

/** Makes the response of a transport from that of an HTTP server: an object, a watch or bytes. */
export async function wireResponse(
  request: Omit<ApiRequest, "credential">,
  raw: RawResponse,
): Promise<ApiResponse> {
  const response = raw.headers["content-encoding"] === "gzip" ? await decompressed(raw) : raw;
  const { status, headers } = response;
  const type = String(headers["content-type"] ?? "");
  if (!/^application\/json\b/.test(type)) {
    return { type: "bytes", status, headers, chunks: chunks(request, response) };
  }
  if (status === 200 && isWatch(request)) {
    return { type: "watch", status, headers, events: frames(request, response) };
  }
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks(request, response)) parts.push(chunk);
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  if (request.signal.aborted) throw aborted(request.signal);
  return { type: "body", status, headers, object: decode(bytes, request.url), bytes: () => bytes };
}

async function decompressed(response: RawResponse): Promise<RawResponse> {
  const [{ createGunzip }, { Readable }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  const { "content-encoding": _, "content-length": __, ...headers } = response.headers;
  const compressed = Readable.from(response.body, { objectMode: false });
  const body = compressed.pipe(createGunzip());
  // `pipe` does not forward errors.
  compressed.once("error", (error) => body.destroy(error));
  return { ...response, headers, body };
}

function isWatch(request: Omit<ApiRequest, "credential">): boolean {
  if (request.method !== "GET" || !request.url.includes("watch=")) return false;
  const value = new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1)).get("watch");
  return value !== null && value !== "false" && value !== "0";
}

/**
 * Yields the bytes of the body. Ends when the signal of the caller aborts; throws if the connection is lost.
 */
async function* chunks(
  request: Omit<ApiRequest, "credential">,
  response: RawResponse,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of response.body) yield chunk;
  } catch (error) {
    if (request.signal.aborted) return;
    throw new ConnectionError(
      `lost the connection during ${request.method} ${request.url}: ${errorText(error)}`,
      {
        cause: error,
        lost: true,
      },
    );
  } finally {
    response.cancel();
  }
}

async function* frames(
  request: Omit<ApiRequest, "credential">,
  response: RawResponse,
): AsyncGenerator<WatchFrame, void, undefined> {
  for await (const line of lines(chunks(request, response))) {
    const event = decode(line, request.url) as WatchEvent<KubeObject>;
    yield { event, bytes: () => Buffer.concat([line, newline]) };
  }
}

const newline = Buffer.from("\n");

function decode(bytes: Buffer, url: string): object {
  let value: unknown;
  try {
    value = decodeJSON(bytes.toString("utf8"));
  } catch (error) {
    throw new ConnectionError(`the answer to ${url} is not JSON: ${errorText(error)}`, { cause: error });
  }
  if (typeof value !== "object" || value === null) {
    throw new ConnectionError(`the answer to ${url} is not an object: ${bytes.toString("utf8", 0, 80)}`);
  }
  return deepFreeze(value);
}
