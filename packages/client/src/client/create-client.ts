import type { Kind, KubeObject } from "@dray/api";
import { type Clock, systemClock } from "../base/clock.ts";
import { type Log, silentLog } from "../base/log.ts";
import { tokenBucket } from "../flowcontrol/rate-limiter.ts";
import type { Informer, InformerOptions } from "../informer/informer.ts";
import { createInformer } from "../informer/reflector.ts";
import { createResourceClient } from "../rest/create-resource-client.ts";
import { observeAttempts, observeRequests, type RequestObserver } from "../rest/observe.ts";
import type { ResourceClient } from "../rest/resource-client.ts";
import { bytesOf, errorOf } from "../rest/responses.ts";
import { type Send, type SenderOptions, sender } from "../rest/send.ts";
import type { Transport } from "../transport/exchange.ts";
import type { Client } from "./client.ts";

export interface ClientOptions {
  readonly transport: Transport;
  /**
   * `dray-scheduler/0.1.0`: the part before the slash is the field manager of writes that do not name one.
   */
  readonly userAgent: string;
  /**
   * Maximum number of requests a second, without watches; no limit if absent. Upstream: client-go,
   * rest.Config.QPS.
   */
  readonly qps?: number;
  /** Maximum number of them at once; `qps` if absent. */
  readonly burst?: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Observes requests, for metrics: that of `ClientMetrics`. */
  readonly observer?: RequestObserver;
  /** Returns a number between 0 and 1, which spreads reconnections. */
  readonly random?: () => number;
}

/** Makes a client of the server of `transport`. */
export function createClient(options: ClientOptions): Client {
  const { transport, userAgent, qps, observer } = options;
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const random = options.random ?? Math.random;
  const limiter = qps === undefined ? undefined : tokenBucket(clock, qps, options.burst ?? Math.ceil(qps));
  const send = createSend({ transport, userAgent, clock, log, limiter }, observer);

  const resource = <T extends KubeObject>(
    kind: Kind<T>,
    { ignoreWarnings = false }: { ignoreWarnings?: boolean } = {},
  ): ResourceClient<T> =>
    createResourceClient(kind, (method, url, request) => send(method, url, { ...request, ignoreWarnings }));

  return {
    resource,
    informer<T extends KubeObject>(kind: Kind<T>, informer: InformerOptions<T> = {}): Informer<T> {
      const { ignoreWarnings = false, ...options } = informer;
      return createInformer(kind, resource(kind, { ignoreWarnings }), options, { clock, log, random });
    },
    async text(method, url, request = {}) {
      const response = await send(method, url, request);
      if (response.status >= 400) throw await errorOf(response);
      return (await bytesOf(response)).toString("utf8");
    },
    async *stream(url, { signal } = {}) {
      const response = await send("GET", url, { headers: { accept: "*/*" }, signal, isStream: true });
      if (response.status >= 400) throw await errorOf(response);
      if (response.type === "bytes") yield* response.chunks;
      else yield await bytesOf(response);
    },
    close: () => transport.close(),
  };
}

function createSend(options: SenderOptions, observer: RequestObserver | undefined): Send {
  if (observer === undefined) return sender(options);
  const transport = observeAttempts(options.transport, observer);
  return observeRequests(sender({ ...options, transport }), observer);
}
