import { createServer, type Server, type ServerResponse } from "node:http";
import type { Server as NetServer } from "node:net";
import { type Clock, publicHostName } from "@dray/client";
import type { ConnectionLimit } from "@dray/streams";
import type { Document } from "./server.ts";

/** Timeout of a request in milliseconds. */
const requestTimeout = 10_000;

/**
 * Endpoints without authentication: `/healthz` on one port, and documents on another.
 *
 * Upstream: kubelet's --healthz-port and --read-only-port.
 */
export class PlainServer {
  readonly #server: Server;

  constructor(
    documents: ReadonlyMap<string, Document>,
    connections: ConnectionLimit,
    clock: Pick<Clock, "now">,
  ) {
    const answer = async (url: string, method: string, response: ServerResponse): Promise<void> => {
      const { pathname, searchParams } = new URL(url, "http://node");
      const document = documents.get(pathname);
      if (document === undefined) return refuse(response, 404, `404 page not found`);
      if (method !== "GET" && method !== "HEAD") return refuse(response, 405, "must be GET or HEAD");
      const body = await document.read(searchParams);
      response.writeHead(200, { "content-type": document.contentType });
      response.end(method === "HEAD" ? undefined : body);
    };
    this.#server = createServer({ requestTimeout, headersTimeout: requestTimeout }, (request, response) => {
      const foreign = publicHostName(request);
      if (foreign !== undefined) return refuse(response, 421, foreign);
      answer(request.url ?? "/", request.method ?? "GET", response).catch((error: Error) =>
        refuse(response, 500, error.message),
      );
    });
    connections.guard(
      this.#server,
      () => clock.now(),
      () => {},
    );
  }

  /** `at`: a server that listens already, or a port and an address. */
  listen(at: NetServer | { readonly port: number; readonly host: string }): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(at, resolve);
    });
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

function refuse(response: ServerResponse, code: number, text: string): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(code, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
}
