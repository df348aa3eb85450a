import { createServer } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { publicHostName } from "@dray/client";

export interface HealthServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Why the component is not ready; undefined: it is ready. */
  readonly notReady: () => string | undefined;
  /** In the text format of Prometheus. */
  readonly metrics: () => string;
}

export interface HealthServer {
  /** `http://127.0.0.1:10259` */
  readonly url: string;
  close(): Promise<void>;
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Serves `/healthz`, `/livez`, `/readyz` and `/metrics` over HTTP. Rejects if the port is in use. */
export async function serveHealth({
  host,
  port,
  notReady,
  metrics,
}: HealthServerOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const answer = (code: number, text: string, type = "text/plain; charset=utf-8"): void => {
      response.writeHead(code, { "Content-Type": type, "X-Content-Type-Options": "nosniff" });
      response.end(request.method === "HEAD" ? undefined : text);
    };
    const foreign = publicHostName(request);
    if (foreign !== undefined) {
      answer(421, foreign);
      return;
    }
    const base = "http://localhost";
    const { url = "/" } = request;
    if (!URL.canParse(url, base)) {
      answer(400, "400 Bad Request\n");
      return;
    }
    const path = new URL(url, base).pathname;
    if (request.method !== "GET" && request.method !== "HEAD") {
      answer(405, "method not allowed\n");
      return;
    }
    switch (path) {
      case "/healthz":
      case "/livez":
        answer(200, "ok");
        return;
      case "/readyz": {
        const reason = notReady();
        answer(
          reason === undefined ? 200 : 500,
          reason === undefined ? "ok" : `${reason}\nreadyz check failed\n`,
        );
        return;
      }
      case "/metrics":
        answer(200, metrics(), metricsType);
        return;
      default:
        answer(404, "404 page not found\n");
    }
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
