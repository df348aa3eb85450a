import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { encodeJSON, StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { authenticate, type Client, type Clock, type Log } from "@dray/client";
import { limitHandshakes } from "@dray/streams";
import type { RuntimeService } from "../runtime/service.ts";
import { authorize } from "./authorization.ts";
import { type ClientLimits, takeStream } from "./client-limits.ts";
import { containersOf, findContainer, findPod } from "./containers.ts";
import { containerLog, logQuery } from "./logs.ts";
import { StreamingEndpoints } from "./streaming.ts";
import { type Connection, refusalTo } from "./upgrade.ts";

/**
 * Timeout of a TLS handshake, and of the header of a request, in milliseconds: as kube-apiserver; upstream's
 * is hours.
 */
const headerTimeout = 32_000;
/** Timeout of an idle connection. Upstream: pkg/kubelet/server/server.go, ListenAndServeKubeletServer. */
const idleTimeout = 90_000;

/** Upstream: pkg/cluster/ports/ports.go, KubeletPort. */
const kubeletPort = 10_250;

/** Certificates of the node's HTTPS endpoints, in PEM. */
export interface Serving {
  readonly cert: string;
  readonly key: string;
  /** CA of client certificates; without it, bearer tokens only. */
  readonly clientCA?: string;
  /** Delivers pairs that replace this one, until the signal aborts. */
  readonly renew?: (
    use: (pair: { readonly cert: string; readonly key: string }) => void,
    signal: AbortSignal,
  ) => void;
}

export interface NodeServerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: RuntimeService;
  readonly nodeName: string;
  /** One of the machine; ignored if the node has a network of its own. */
  readonly address: string;
  readonly serving: Serving;
  /** Milliseconds; for tests. */
  readonly timeouts?: { readonly header?: number; readonly idle?: number };
  readonly limits: ClientLimits;
  pods(): readonly Pod[];
  /** Documents by path. */
  readonly documents: ReadonlyMap<string, Document>;
}

/** A text that is generated for each request. */
export interface Document {
  readonly contentType: string;
  read(query: URLSearchParams): Promise<string>;
}

/** A request and its response. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Present if the client requests another protocol on this connection. */
  readonly connection: Connection | undefined;
}

/**
 * The kubelet's own HTTPS endpoints, which the API server proxies: logs, exec, attach, port-forward, the
 * node's pods, health, and documents such as metrics.
 */
export class NodeServer {
  readonly #options: NodeServerOptions;
  readonly #server: Server;
  readonly #streaming: StreamingEndpoints;
  /** Upgraded connections, which the HTTP server does not track. */
  readonly #upgrading = new Set<Socket>();
  readonly #stop = new AbortController();

  constructor(options: NodeServerOptions) {
    this.#options = options;
    this.#streaming = new StreamingEndpoints(options);
    const { cert, key, clientCA } = options.serving;
    const { header = headerTimeout, idle = idleTimeout } = options.timeouts ?? {};
    this.#server = createServer(
      {
        cert,
        key,
        headersTimeout: header,
        keepAliveTimeout: idle,
        connectionsCheckingInterval: Math.min(header / 4, 5_000),
        ...(clientCA === undefined ? {} : { ca: clientCA, requestCert: true, rejectUnauthorized: false }),
      },
      (request, response) => void this.#answer({ request, response, connection: undefined }),
    );
    limitHandshakes(this.#server, options.clock, header);
    this.#server.on("upgrade", (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
      const socket = duplex as Socket;
      // Default handler: an unhandled `error` event would end the process.
      socket.on("error", () => {});
      this.#upgrading.add(socket);
      socket.once("close", () => this.#upgrading.delete(socket));
      const connection = { socket, head };
      void this.#answer({ request, response: refusalTo(request, connection), connection });
    });
    this.#limitConnections();
  }

  /**
   * Listens in the network of the node. Returns the port: without a given one that of kubelets, where
   * programs such as Prometheus' operator look for them, or any free one.
   */
  async listen(port: number | undefined): Promise<number> {
    const { renew, clientCA } = this.#options.serving;
    renew?.(
      ({ cert, key }) =>
        this.#server.setSecureContext({ cert, key, ...(clientCA === undefined ? {} : { ca: clientCA }) }),
      this.#stop.signal,
    );
    if (port !== undefined) return this.#listenOn(port);
    return this.#listenOn(kubeletPort).catch(() => this.#listenOn(0));
  }

  async #listenOn(port: number): Promise<number> {
    const { runtime, address } = this.#options;
    const inNode = await runtime.nodeNetwork?.listen(port);
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(inNode ?? { port, host: address }, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  #limitConnections(): void {
    const { clock, log, limits } = this.#options;
    limits.connections.guard(
      this.#server,
      () => clock.now(),
      () =>
        log.warn(
          { connections: limits.connections.max },
          "too many connections to nodes: those without a request are closed, and new ones if there are none; raise the limit of open files (`ulimit -n`) or of memory",
        ),
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    for (const socket of this.#upgrading) socket.destroy();
    await this.#streaming.close();
    await closed;
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    try {
      const { url, path } = target(request);
      const { client, nodeName } = this.#options;
      const user = await authenticate(request, client);
      const { method = "GET" } = request;
      await authorize(user, { method, path: `/${path.join("/")}` }, { nodeName, client });
      await this.#route(exchange, url, path);
    } catch (error) {
      this.#refuse(error, response);
    }
  }

  #refuse(error: unknown, response: ServerResponse): void {
    const code = error instanceof StatusError ? error.code : 500;
    if (!(error instanceof StatusError))
      this.#options.log.error({ err: error }, "a request to the node failed");
    if (response.headersSent) response.destroy();
    else
      response.writeHead(code, { "content-type": "text/plain; charset=utf-8" }).end((error as Error).message);
  }

  async #route(exchange: Exchange, url: URL, path: readonly string[]): Promise<void> {
    const { request, response } = exchange;
    const { method = "GET" } = request;
    const [first = "", ...rest] = path;
    const endpoint = endpoints.get(first);
    if (endpoint?.lengths.includes(rest.length)) {
      if (!endpoint.methods.includes(method)) throw notAllowed(method);
      takeStream(this.#options.limits, exchange.connection?.socket ?? response);
      return this.#streaming[endpoint.name]({ ...exchange, url, path: rest });
    }
    if (method !== "GET") throw notAllowed(method);
    const document = this.#options.documents.get(`/${path.join("/")}`);
    if (document !== undefined)
      response
        .writeHead(200, { "content-type": document.contentType })
        .end(await document.read(url.searchParams));
    else if (first === "pods" && rest.length === 0)
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(encodeJSON({ kind: "PodList", apiVersion: "v1", metadata: {}, items: this.#options.pods() }));
    else if (first === "containerLogs" && rest.length === 3) {
      const [namespace = "", pod = "", container = ""] = rest;
      takeStream(this.#options.limits, response);
      await this.#logs([namespace, pod, container], url.searchParams, response);
    } else throw StatusError.of("NotFound", "404 page not found");
  }

  async #logs(
    [namespace, podName, name]: readonly [string, string, string],
    parameters: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    if (response.closed) return;
    const { runtime, clock } = this.#options;
    const query = logQuery(parameters, clock.now());
    const pod = findPod(this.#options.pods(), namespace, podName);
    if (pod === undefined) throw StatusError.of("NotFound", `pod "${podName}" not found`);
    if (findContainer(pod, name) === undefined)
      throw StatusError.of("NotFound", `container "${name}" not found in pod "${podName}"`);
    const containers = (await containersOf(runtime, pod.metadata.uid, name)).filter(
      ({ state }) => state !== "created",
    );
    const container = containers[query.previous ? 1 : 0];
    if (container === undefined)
      throw StatusError.of(
        "BadRequest",
        query.previous
          ? `previous terminated container "${name}" in pod "${podName}" not found`
          : `container "${name}" in pod "${podName}" is waiting to start: ${waitingReason(pod, name)}`,
      );
    response.writeHead(200, { "content-type": "text/plain" });
    response.flushHeaders();
    for await (const chunk of containerLog(runtime, container, query, gone.signal))
      if (!response.write(chunk)) await drained(response, gone.signal);
    response.end();
  }
}

interface Endpoint {
  readonly name: "exec" | "attach" | "portForward" | "run";
  /** Number of path segments after the first, without and with the pod's UID. */
  readonly lengths: readonly number[];
  readonly methods: readonly string[];
}

/** Endpoints that run or reach something in a pod, by the first part of their path. */
const endpoints: ReadonlyMap<string, Endpoint> = new Map(
  (
    [
      { name: "exec", lengths: [3, 4], methods: ["GET", "POST"] },
      { name: "attach", lengths: [3, 4], methods: ["GET", "POST"] },
      { name: "portForward", lengths: [2, 3], methods: ["GET", "POST"] },
      { name: "run", lengths: [3, 4], methods: ["POST"] },
    ] as const
  ).map((endpoint) => [endpoint.name, endpoint]),
);

/** URL and decoded path of a request. Throws 400. */
function target({ url: text = "/" }: IncomingMessage): { url: URL; path: string[] } {
  try {
    const url = new URL(text, "https://node");
    return { url, path: url.pathname.split("/").slice(1).map(decodeURIComponent) };
  } catch {
    throw StatusError.of("BadRequest", `the path ${JSON.stringify(text)} is not a valid URL path`);
  }
}

function notAllowed(method: string): StatusError {
  return StatusError.of("MethodNotAllowed", `${method} is not allowed here`);
}

function waitingReason(pod: Pod, name: string): string {
  const {
    initContainerStatuses = [],
    containerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {};
  const statuses = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  return statuses.find((status) => status.name === name)?.state?.waiting?.reason ?? "ContainerCreating";
}

function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      gone.removeEventListener("abort", done);
      resolve();
    };
    response.on("drain", done);
    gone.addEventListener("abort", done);
  });
}
