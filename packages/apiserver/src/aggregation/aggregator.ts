import type { ApiRequest, ApiResponse, Clock, Log, UserInfo, WorkQueueMetrics } from "@dray/client";
import type { Certificate } from "../certificates/pki.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { LoopbackPods } from "../proxy/loopback-pods.ts";
import type { RequestInfo } from "../request/info.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnObjects } from "../write/own-objects.ts";
import { BackEnds, type RemoteService } from "./back-end.ts";
import { LocalServices } from "./local-services.ts";
import { RemoteServices } from "./remote-services.ts";

export interface AggregatorParts {
  readonly own: OwnObjects;
  readonly storage: Storage;
  readonly loopbackPods: LoopbackPods | undefined;
  readonly resources: readonly ServedResource[];
  /**
   * The client certificate that the server, as a front proxy, presents to back ends
   * (--proxy-client-cert-file).
   */
  readonly proxyClient: Certificate | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly workQueues?: WorkQueueMetrics | undefined;
}

const openAPIRoot = "/openapi/v3/";

/** Handles the APIServices and the requests that are passed on to other API servers (kube-aggregator). */
export class Aggregator {
  readonly remote: RemoteServices;
  readonly #local: LocalServices;
  readonly #backEnds: BackEnds;
  readonly #clock: Clock;

  constructor(parts: AggregatorParts) {
    const { own, storage, loopbackPods, resources, proxyClient, clock, log, workQueues } = parts;
    this.#clock = clock;
    this.#backEnds = new BackEnds({ storage, loopbackPods }, proxyClient);
    this.#local = new LocalServices({ own, storage, resources, clock, log, workQueues });
    this.remote = new RemoteServices({ own, storage, backEnds: this.#backEnds, clock, log, workQueues });
  }

  /** Creates the APIServices of the server's own versions, and follows all APIServices. */
  async start(): Promise<void> {
    await this.#local.start();
    this.remote.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#local.close(), this.remote.close()]);
    this.#backEnds.close();
  }

  /**
   * Returns the response of another server to an authorized request; undefined if this server has the
   * version.
   */
  answer(request: ApiRequest, info: RequestInfo, user: UserInfo): Promise<ApiResponse> | undefined {
    if (this.remote.size === 0) return undefined;
    const service = this.#serviceFor(info.path);
    return service && this.#proxyRequest(service, request, info, user);
  }

  async #proxyRequest(
    service: RemoteService,
    request: ApiRequest,
    info: RequestInfo,
    user: UserInfo,
  ): Promise<ApiResponse> {
    const { proxyRequest } = await import("./proxy.ts");
    return proxyRequest(this.#backEnds, { service, request, info, user, clock: this.#clock });
  }

  #serviceFor(path: string): RemoteService | undefined {
    if (path.startsWith(openAPIRoot)) return this.#describing(path.slice(openAPIRoot.length));
    const [, root, group, version] = path.split("/");
    if (root === "api") return this.remote.find("", "v1");
    if (root !== "apis" || !group || !version) return undefined;
    return this.remote.find(group, version);
  }

  /** Returns the APIService whose back end has an OpenAPI v3 document. */
  #describing(name: string): RemoteService | undefined {
    for (const { service, openAPI } of this.remote.list)
      if (openAPI !== undefined && Object.hasOwn(openAPI.paths, name)) return service;
    return undefined;
  }
}
