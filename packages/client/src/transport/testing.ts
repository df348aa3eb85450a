import { readFileSync } from "node:fs";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** A server whose responses the tests write, and whose connections they cut. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly ca: string;
  /** The received requests, as `METHOD path`. */
  readonly requests: string[];
  /** Number of connections since the start. */
  readonly connections: number;
  /** Destroys all connections. */
  cut(): void;
  close(): Promise<void>;
}

export type Responder = (request: Http2ServerRequest, response: Http2ServerResponse, body: string) => void;

// Self-signed, for the loopback address: only these tests trust it.
const pair = {
  cert: readFileSync(new URL("testdata/localhost.crt.pem", import.meta.url), "utf8"),
  key: readFileSync(new URL("testdata/localhost.key.pem", import.meta.url), "utf8"),
};

/** Listens on a free port of 127.0.0.1, or on `port`. */
export async function testServer(
  respond: Responder,
  options: { http1?: boolean; port?: number } = {},
): Promise<TestServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const handle = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    requests.push(`${request.method} ${request.url}`);
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => respond(request, response, body));
  };
  const server =
    options.http1 === true
      ? createServer(pair, handle as never)
      : createSecureServer({ ...pair, allowHTTP1: true }, handle);
  server.on("secureConnection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    ca: pair.cert,
    requests,
    get connections() {
      return connections;
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        cut();
        server.close(() => resolve());
      }),
  };
}

export function sendJSON(response: Http2ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
