import { Service } from "@dray/api/core/v1";
import type { Informer } from "@dray/client";
import { type ClusterDns, machineResolvConf } from "../containers/dns.ts";
import { ServiceAgent } from "../services/agent.ts";
import type { ServiceNetwork } from "../services/network.ts";
import type { AgentContext } from "./context.ts";

/** Services of the cluster as pods of a node see them: as variables, as addresses, and by name. */
export class ClusterServices {
  readonly informer: Informer<Service>;
  readonly #context: AgentContext;
  #agent: ServiceAgent | undefined;

  constructor(context: AgentContext) {
    this.#context = context;
    this.informer = context.client.informer(Service);
  }

  /** The network that leads Services to their endpoints; known once the runtime has been started. */
  get network(): ServiceNetwork | undefined {
    const { options, runtime } = this.#context;
    return options.servicesClient === undefined ? undefined : runtime.network?.services;
  }

  get dns(): ClusterDns {
    const { network } = this;
    const servers = network === undefined ? undefined : [network.gateway];
    return { servers, domain: "cluster.local", resolvConf: machineResolvConf, ...this.#context.options.dns };
  }

  /** Leads Services to their endpoints if the runtime has the network for it. */
  lead(): void {
    const { network } = this;
    const { options, clock, newId, log } = this.#context;
    if (network === undefined || options.servicesClient === undefined) return;
    const { domain, resolvConf } = this.dns;
    this.#agent = new ServiceAgent({
      client: options.servicesClient,
      network,
      clock,
      newId,
      log,
      domain,
      resolvConf,
    });
    this.#agent.start();
  }

  async stop(): Promise<void> {
    await this.#agent?.stop();
  }
}
