import type { KubeObject } from "@dray/api";
import { decodeJSON, deepFreeze } from "@dray/api";
import { type Answer, aborted, text } from "./connection.ts";
import {
  type ApiRequest,
  type ApiResponse,
  ConnectionError,
  type WatchEvent,
  type WatchFrame,
} from "./exchange.ts";
import { lines } from "./lines.ts";

/** The answer as callers know it: an object, a watch or bytes. */
export async function response(request: Omit<ApiRequest, "credential">, sent: Answer): Promise<ApiResponse> {
  const answer = sent.headers["content-encoding"] === "gzip" ? await unpacked(sent) : sent;
  const { status, headers } = answer;
  const type = String(headers["content-type"] ?? "");
  if (!/^application\/json\b/.test(type)) {
    return { type: "bytes", status, headers, chunks: chunks(request, answer) };
  }
  if (status === 200 && isWatch(request)) {
    return { type: "watch", status, headers, events: frames(request, answer) };
  }
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks(request, answer)) parts.push(chunk);
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  if (request.signal.aborted) throw aborted(request.signal);
  return { type: "body", status, headers, object: decode(bytes, request.url), bytes: () => bytes };
}

/** The same answer without its compression. */
async function unpacked(answer: Answer): Promise<Answer> {
  const [{ createGunzip }, { Readable }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  const { "content-encoding": _, "content-length": __, ...headers } = answer.headers;
  const packed = Readable.from(answer.body, { objectMode: false });
  const body = packed.pipe(createGunzip());
  // Who reads what comes out sees what goes wrong before.
  packed.once("error", (error) => body.destroy(error));
  return { ...answer, headers, body };
}

function isWatch(request: Omit<ApiRequest, "credential">): boolean {
  if (request.method !== "GET" || !request.url.includes("watch=")) return false;
  const value = new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1)).get("watch");
  return value !== null && value !== "false" && value !== "0";
}

/** The bytes as they come. Ends when the caller's signal aborts; rejects when the connection is lost. */
async function* chunks(
  request: Omit<ApiRequest, "credential">,
  answer: Answer,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of answer.body) yield chunk;
  } catch (error) {
    if (request.signal.aborted) return;
    throw new ConnectionError(`lost the connection during ${request.method} ${request.url}: ${text(error)}`, {
      cause: error,
      lost: true,
    });
  } finally {
    answer.cancel();
  }
}

async function* frames(
  request: Omit<ApiRequest, "credential">,
  answer: Answer,
): AsyncGenerator<WatchFrame, void, undefined> {
  for await (const line of lines(chunks(request, answer))) {
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
    throw new ConnectionError(`the answer to ${url} is no JSON: ${text(error)}`, { cause: error });
  }
  if (typeof value !== "object" || value === null) {
    throw new ConnectionError(`the answer to ${url} is no object: ${bytes.toString("utf8", 0, 80)}`);
  }
  return deepFreeze(value);
}
