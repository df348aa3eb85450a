import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { StatusError } from "@dray/api";
import { authenticate, type Client, type Clock, isAllowed, type Log } from "@dray/client";
import { ConnectionLimit, limitHandshakes, maxConnections } from "@dray/streams";
import { type ComponentEndpoints, isOpen, parseTarget } from "./endpoints.ts";

export interface SecureServerOptions {
  readonly host: string;
  /** The port to listen on; any free one if another program has it. */
  readonly port: number;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authority of client certificates. */
  readonly clientAuthority: string;
  /** Asks the API server who a client is and what it may do. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly endpoints: ComponentEndpoints;
}

export interface SecureServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Timeout of a TLS handshake, and of the header of a request, in milliseconds: as kube-apiserver. */
const headerTimeout = 32_000;

/** Few clients read health and metrics of a component. */
const maxClients = 100;

/**
 * Serves the endpoints of a component over HTTPS. A client is known by a certificate of the cluster or a
 * token, and needs the right to `get` the path as a `nonResourceURL`, such as `/metrics`.
 */
export async function serveSecurely(options: SecureServerOptions): Promise<SecureServer> {
  const { host, port, certificate, key, clientAuthority, clock, log } = options;
  const server = createServer(
    {
      ...{ cert: certificate, key, ca: clientAuthority, requestCert: true, rejectUnauthorized: false },
      headersTimeout: headerTimeout,
      requestTimeout: headerTimeout,
    },
    (request, response) => void answer(request, response, options),
  );
  limitHandshakes(server, clock, headerTimeout);
  new ConnectionLimit(Math.min(maxConnections(1 / 32), maxClients)).guard(
    server,
    () => clock.now(),
    () => log.warn({ port }, "too many connections: those without a request are closed"),
  );
  await listen(server, host, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error;
    return listen(server, host, 0);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { endpoints, client, log }: SecureServerOptions,
): Promise<void> {
  const { method = "GET" } = request;
  try {
    const { url: target = "/" } = request;
    const path = parseTarget(target)?.pathname;
    if (path !== undefined && !isOpen(path)) await authorize(request, path, client);
    const { status, text, type } = endpoints.answer(method, target);
    response.writeHead(status, { "content-type": type, "x-content-type-options": "nosniff" });
    response.end(method === "HEAD" ? undefined : text);
  } catch (error) {
    if (!(error instanceof StatusError)) log.error({ err: error }, "a request to the component failed");
    const code = error instanceof StatusError ? error.code : 500;
    response.writeHead(code, { "content-type": "text/plain; charset=utf-8" }).end((error as Error).message);
  }
}

/** Upstream: apiserver/pkg/endpoints/filters/authorization.go, GetAuthorizerAttributes. */
async function authorize(request: IncomingMessage, path: string, client: Client): Promise<void> {
  const user = await authenticate(request, client);
  const verb = (request.method ?? "GET").toLowerCase();
  if (await isAllowed(client, user, { nonResourceAttributes: { path, verb } })) return;
  throw StatusError.of("Forbidden", `forbidden: User "${user.username}" cannot ${verb} path "${path}"`);
}
