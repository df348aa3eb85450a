import type { Service } from "@dray/api/core/v1";
import type { EndpointSlice } from "@dray/api/discovery/v1";
import { type Client, type Clock, type Informer, type Log, sleep } from "@dray/client";
import { startDnsServer } from "../dns/server.ts";
import type { LedServices, ServiceNetwork } from "./network.ts";
import { serviceRoutes } from "./routes.ts";
import { dnsZone, serviceCaches } from "./zone.ts";

export interface ServiceAgentOptions {
  /** Client of the user `system:kube-proxy`, which may read Services and EndpointSlices. */
  readonly client: Client;
  readonly network: ServiceNetwork;
  /** Domain of the cluster, such as `cluster.local`. */
  readonly domain: string;
  /** resolv.conf of the machine, whose servers resolve other names. */
  readonly resolvConf: string;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
}

/** Minimum interval of changes of the rules in milliseconds, since many Services may change at once. */
const changeInterval = 100;
/** Interval in milliseconds at which the rules are repaired. Upstream: iptables.syncPeriod of kube-proxy. */
const repairInterval = 30_000;
/** Delay before a failed leader retries, in milliseconds. */
const retryInterval = 5000;

/**
 * Routes the addresses of Services to their endpoints, and serves their names, for all nodes of a cluster on
 * this machine. One agent leads; another one takes over when it ends or is killed.
 */
export class ServiceAgent {
  readonly #options: ServiceAgentOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: ServiceAgentOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when nothing more is changed. Rules stay. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { network, clock, log } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await network.lead(() => this.#lead(), signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, "Services are not led to their endpoints, and names not resolved, yet");
        await sleep(clock, retryInterval, signal);
      }
    }
  }

  async #lead(): Promise<void> {
    const { client, network, domain, resolvConf, clock, newId, log } = this.#options;
    // Ends by an error of its own too.
    const end = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, end.signal]);
    const caches = serviceCaches(client);
    const { services, slices } = caches;
    const zone = dnsZone(domain, network.gateway, () => caches);
    const server = await startDnsServer({
      zone,
      address: network.gateway,
      resolvConf,
      clock,
      newId,
      log,
    });
    try {
      const changed = new Changes([services, slices]);
      await Promise.all([services.start(signal), slices.start(signal)]);
      log.info({ dns: `${network.gateway}:${server.port}` }, "leading Services to their endpoints");
      let written = "";
      let repairedAt = clock.now();
      while (!signal.aborted) {
        const routes = serviceRoutes(services.list(), slices.list());
        const text = JSON.stringify(routes);
        changed.forget();
        // A failure is retried with the next change or repair.
        if (text !== written) written = (await this.#lay(routes, server.port)) ? text : "";
        await sleep(clock, changeInterval, signal);
        await changed.within(clock, repairedAt + repairInterval - clock.now(), signal);
        if (clock.now() < repairedAt + repairInterval || signal.aborted) continue;
        await network.repair();
        repairedAt = clock.now();
      }
    } finally {
      end.abort();
      await server.close();
    }
  }

  /**
   * Returns true if all rules were written. Names are served even if the kernel refuses the rule of a
   * Service.
   */
  async #lay(routes: LedServices["routes"], dnsPort: number): Promise<boolean> {
    const { network, log } = this.#options;
    try {
      await network.setServices({ routes, dnsPort });
      return true;
    } catch (error) {
      log.warn({ err: error }, "Services are not led to their endpoints");
      await network.setServices({ routes: [], dnsPort });
      return false;
    }
  }
}

/** Reports whether an informer has changed since `forget`. */
class Changes {
  #changed = false;
  #wake: () => void = () => {};

  constructor(informers: readonly (Informer<Service> | Informer<EndpointSlice>)[]) {
    const see = (): void => {
      this.#changed = true;
      this.#wake();
    };
    for (const informer of informers) informer.handle({ add: see, update: see, delete: see });
  }

  forget(): void {
    this.#changed = false;
  }

  /** Resolves after a change, after the time, or when the signal aborts. */
  async within(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (this.#changed) return;
    const done = new AbortController();
    this.#wake = () => done.abort();
    await sleep(clock, Math.max(0, milliseconds), AbortSignal.any([signal, done.signal]));
    this.#wake = () => {};
  }
}
