import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { Client, Clock, Log } from "@dray/client";
import type { Container, RuntimeService } from "../runtime/service.ts";
import { authenticate, authorize } from "./authentication.ts";
import { containerLog, logQuery } from "./logs.ts";

/** With what the node serves HTTPS, all PEM. */
export interface Serving {
  readonly cert: string;
  readonly key: string;
  /** Who signs the certificates of clients; absent: bearer tokens only. */
  readonly clientCA?: string;
}

export interface NodeServerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: RuntimeService;
  readonly nodeName: string;
  readonly address: string;
  readonly serving: Serving;
  pods(): readonly Pod[];
  /** Lines of the Prometheus text format. */
  metrics(): string;
}

/**
 * The kubelet's own HTTPS endpoints, which the API server proxies: logs, the node's pods, health, metrics. Exec,
 * attach and port-forward will be further routes.
 */
export class NodeServer {
  readonly #options: NodeServerOptions;
  readonly #server: Server;

  constructor(options: NodeServerOptions) {
    this.#options = options;
    const { cert, key, clientCA } = options.serving;
    this.#server = createServer(
      {
        cert,
        key,
        ...(clientCA === undefined ? {} : { ca: clientCA, requestCert: true, rejectUnauthorized: false }),
      },
      (request, response) => void this.#answer(request, response),
    );
  }

  /** Answers the port. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, this.#options.address, () =>
        resolve((this.#server.address() as AddressInfo).port),
      );
    });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const url = new URL(request.url ?? "/", "https://node");
      const user = await authenticate(request, this.#options.client);
      await authorize(
        user,
        request.method ?? "GET",
        url.pathname,
        this.#options.nodeName,
        this.#options.client,
      );
      await this.#route(request.method ?? "GET", url, response, gone.signal);
    } catch (error) {
      this.#refuse(error, response);
    }
  }

  #refuse(error: unknown, response: ServerResponse): void {
    const code = error instanceof StatusError ? error.code : 500;
    if (code === 500) this.#options.log.error({ err: error }, "a request to the node failed");
    if (response.headersSent) response.destroy();
    else
      response.writeHead(code, { "content-type": "text/plain; charset=utf-8" }).end((error as Error).message);
  }

  async #route(method: string, url: URL, response: ServerResponse, gone: AbortSignal): Promise<void> {
    if (method !== "GET") throw StatusError.of("MethodNotAllowed", `${method} is not allowed here`);
    const [first, ...rest] = url.pathname.split("/").slice(1).map(decodeURIComponent);
    const text = { "content-type": "text/plain; charset=utf-8" };
    if (first === "healthz" && rest.length === 0) response.writeHead(200, text).end("ok");
    else if (first === "metrics" && rest.length === 0)
      response.writeHead(200, text).end(this.#options.metrics());
    else if (first === "pods" && rest.length === 0)
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(
          JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata: {}, items: this.#options.pods() }),
        );
    else if (first === "containerLogs" && rest.length === 3) {
      const [namespace = "", pod = "", container = ""] = rest;
      await this.#logs(namespace, pod, container, url.searchParams, response, gone);
    } else throw StatusError.of("NotFound", "404 page not found");
  }

  async #logs(
    namespace: string,
    podName: string,
    name: string,
    parameters: URLSearchParams,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<void> {
    const { runtime, clock } = this.#options;
    const query = logQuery(parameters, clock.now());
    const pod = this.#options
      .pods()
      .find(({ metadata }) => metadata.namespace === namespace && metadata.name === podName);
    if (pod === undefined) throw StatusError.of("NotFound", `pod "${podName}" not found`);
    const known = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    if (!known.some((container) => container.name === name))
      throw StatusError.of("NotFound", `container "${name}" not found in pod "${podName}"`);
    const containers = containersOf(runtime, pod.metadata.uid, name).filter(
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
    for await (const chunk of containerLog(runtime, container, query, gone))
      if (!response.write(chunk)) await drained(response, gone);
    response.end();
  }
}

function waitingReason(pod: Pod, name: string): string {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return statuses.find((status) => status.name === name)?.state?.waiting?.reason ?? "ContainerCreating";
}

function containersOf(runtime: RuntimeService, podUid: string, name: string): Container[] {
  const sandboxes = new Set(
    runtime
      .listPodSandboxes()
      .filter(({ config }) => config.uid === podUid)
      .map(({ id }) => id),
  );
  return runtime
    .listContainers()
    .filter(({ sandboxId, config }) => sandboxes.has(sandboxId) && config.name === name)
    .sort((a, b) => b.config.attempt - a.config.attempt);
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
