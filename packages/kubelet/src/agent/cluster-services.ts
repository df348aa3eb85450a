import { type Pod, Service } from "@dray/api/core/v1";
import type { Informer } from "@dray/client";
import { type ClusterDns, machineResolvConf, resolvesServices } from "../containers/dns.ts";
import { updateNames } from "../containers/hosts-file.ts";
import { ServiceAgent } from "../services/agent.ts";
import type { MemberServices } from "../services/machine-services.ts";
import type { ServiceNetwork } from "../services/network.ts";
import { clusterIPv4 } from "../services/routes.ts";
import type { AgentContext } from "./context.ts";

/** Services of the cluster as pods of a node see them: as variables, as addresses, and by name. */
export class ClusterServices {
  readonly informer: Informer<Service>;
  readonly #context: AgentContext;
  readonly #pods: () => readonly Pod[];
  #agent: ServiceAgent | undefined;
  #member: MemberServices | undefined;

  /** `pods` returns the pods of the node. */
  constructor(context: AgentContext, pods: () => readonly Pod[]) {
    this.#context = context;
    this.#pods = pods;
    this.informer = context.client.informer(Service);
  }

  /** The network that leads Services to their endpoints; known once the runtime has been started. */
  get network(): ServiceNetwork | undefined {
    const { options, runtime } = this.#context;
    return options.servicesClient === undefined ? undefined : runtime.network?.services;
  }

  get dns(): ClusterDns {
    const { network } = this;
    const server = network?.gateway ?? this.#member?.dnsServer;
    const { options, runtime } = this.#context;
    // A runtime that makes the network of pods gives them networks of their own, and the node too if it has
    // one.
    const reachesLoopback = ({ spec }: Pod): boolean =>
      runtime.network === undefined || (spec.hostNetwork === true && runtime.nodeNetwork === undefined);
    return {
      servers: server === undefined ? undefined : [server],
      names: this.#names,
      domain: "cluster.local",
      resolvConf: machineResolvConf,
      reachesLoopback,
      ...options.dns,
    };
  }

  /** Port at which a port of a Service is served for pods of this node. */
  servedPort(port: number): number {
    return this.#member?.servedPort(port) ?? port;
  }

  get #names(): ClusterDns["names"] {
    const member = this.#member;
    if (member === undefined || member.dnsServer !== undefined) return undefined;
    return (namespace) => member.names(namespace);
  }

  /**
   * Leads Services to their endpoints by connections of this process, where the runtime has no network of
   * pods for it. Resolves when their names are known.
   */
  async join(): Promise<void> {
    const { options, runtime, nodeName, nodeAddress, clock, random, newId, log } = this.#context;
    const { servicesClient: client } = options;
    const own = this.informer.get({ namespace: "default", name: "kubernetes" });
    const firstAddress = own && clusterIPv4(own);
    if (client === undefined || runtime.machineServices === undefined || firstAddress === undefined) return;
    if (!firstAddress.startsWith("127.")) {
      log.warn(
        { first: firstAddress },
        "Services have addresses on which nothing of this machine can listen: give the API server a range of 127.64.0.0/10 (--service-cluster-ip-range)",
      );
      return;
    }
    const { domain, resolvConf } = this.dns;
    this.#member = runtime.machineServices.join({
      ...{ client, node: nodeName, nodeAddress, firstAddress, domain, resolvConf, clock, random, newId, log },
      writesResolvConf: runtime.writesResolvConf ?? false,
      namesChanged: () => this.writeNames(),
    });
    await this.#member.ready;
  }

  /** Brings the names in the hosts files of pods up to date. */
  writeNames(): void {
    const { paths } = this.#context;
    const names = this.#names;
    if (names === undefined) return;
    const byNamespace = Map.groupBy(
      this.#pods().filter(resolvesServices),
      ({ metadata }) => metadata.namespace,
    );
    for (const [namespace, pods] of byNamespace) {
      const lines = names(namespace);
      for (const pod of pods) updateNames(pod, paths, lines);
    }
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
    await Promise.all([this.#agent?.stop(), this.#member?.leave()]);
  }
}
