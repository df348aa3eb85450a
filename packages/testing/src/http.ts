import type { IncomingHttpHeaders } from "node:http";
import { type RequestOptions, request } from "node:https";

export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends an HTTPS request on a connection of its own, and reads the whole response. */
export function httpsRequest(url: string, options: RequestOptions = {}, body?: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent: false, ...options }, (response) => {
      response.toArray().then((chunks: Buffer[]) => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        });
      }, reject);
    });
    call.once("error", reject);
    call.end(body);
  });
}

/** Joins the chunks of a stream to one text. */
export async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}
