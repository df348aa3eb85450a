import type { Duplex } from "node:stream";
import type { ApiRequest, ApiResponse } from "@dray/client";
import { headersOf } from "../request/headers.ts";

type Answer = (request: Omit<ApiRequest, "credential" | "signal">) => Promise<ApiResponse>;

/**
 * Responds to an HTTP/1.1 request whose method Node's parser does not know (`FOO /api/v1/pods`), and which it
 * therefore passes on unparsed. For a resource, any method is valid syntax: kube-apiserver responds with 405.
 * Returns false for other parse errors.
 */
export function answerUnknownMethod(
  error: Error & { code?: string; rawPacket?: Buffer },
  socket: Duplex,
  answer: Answer,
): boolean {
  if (error.code !== "HPE_INVALID_METHOD" || !error.rawPacket || !socket.writable) return false;
  const request = headOf(error.rawPacket.toString("latin1"));
  if (request === undefined) return false;
  answer(request)
    .then((response) => (response.type === "body" ? written(response) : undefined))
    .then(
      (bytes) => socket.end(bytes),
      () => socket.destroy(),
    );
  return true;
}

function headOf(text: string): Omit<ApiRequest, "credential" | "signal"> | undefined {
  const [head = ""] = text.split("\r\n\r\n", 1);
  const [line = "", ...fields] = head.split("\r\n");
  const match = /^([A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}) (\/\S*) HTTP\/1\.[01]$/.exec(line);
  if (match === null) return undefined;
  const raw = fields.flatMap((field) => {
    const mark = field.indexOf(":");
    return mark > 0 ? [field.slice(0, mark), field.slice(mark + 1).trim()] : [];
  });
  const [, method = "", url = ""] = match;
  return { method, url, ...headersOf(raw) };
}

async function written(response: Extract<ApiResponse, { type: "body" }>): Promise<Buffer> {
  // Imported lazily: node:http loads all of fetch.
  const { STATUS_CODES } = await import("node:http");
  const body = response.bytes();
  const fields = Object.entries({
    ...response.headers,
    "content-length": String(body.length),
    connection: "close",
  }).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}\r\n`));
  const status = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n`;
  return Buffer.concat([Buffer.from(`${status}${fields.join("")}\r\n`, "latin1"), body]);
}
