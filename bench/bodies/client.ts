/** A client of the benchmark, for threads of their own. */
import { Agent, request } from "node:https";
import type { Sent } from "./requests.ts";

/** How to reach the server. */
export interface ClientOptions {
  readonly url: string;
  readonly authority: string;
  readonly token: string;
}

export interface Answered {
  readonly status: number;
  /** The message of an error; "" for a success. */
  readonly message: string;
}

/** Returns a function that sends requests, each on a connection that is kept. */
export function client({ url, authority, token }: ClientOptions): (sent: Sent) => Promise<Answered> {
  const agent = new Agent({ keepAlive: true });
  return ({ method, url: path, type, body }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(type === "" ? {} : { "content-type": type, "content-length": body.length }),
    };
    const sent = request(`${url}${path}`, { method, agent, ca: authority, headers }, (response) => {
      response.toArray().then((chunks: Buffer[]) => {
        const status = response.statusCode ?? 0;
        resolve({ status, message: status < 300 ? "" : messageOf(Buffer.concat(chunks).toString()) });
      }, reject);
    });
    sent.once("error", reject);
    sent.end(body);
    return promise;
  };
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { message: string }).message.slice(0, 200);
  } catch {
    return text.slice(0, 200);
  }
}
