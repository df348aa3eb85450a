import { createServer } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { publicHostName } from "@dray/client";
import { type ComponentCheck, ComponentEndpoints, plainAnswer } from "@dray/cluster/component-server";

export interface HealthServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Beside `ping`. */
  readonly checks?: readonly ComponentCheck[];
  /** In the text format of Prometheus. */
  readonly metrics: () => string;
}

export interface HealthServer {
  /** `http://127.0.0.1:10259` */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/livez`, `/readyz`, `/metrics` and `/metrics/slis` over HTTP. Rejects if the port is in
 * use.
 */
export async function serveHealth({
  host,
  port,
  checks = [],
  metrics,
}: HealthServerOptions): Promise<HealthServer> {
  const endpoints = new ComponentEndpoints({ checks, metrics });
  const server = createServer((request, response) => {
    const { method = "GET", url = "/" } = request;
    const foreign = publicHostName(request);
    const { status, text, type } =
      foreign === undefined ? endpoints.answer(method, url) : plainAnswer(421, foreign);
    response.writeHead(status, { "Content-Type": type, "X-Content-Type-Options": "nosniff" });
    response.end(method === "HEAD" ? undefined : text);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
