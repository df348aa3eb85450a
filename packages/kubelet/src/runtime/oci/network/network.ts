import { rm } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { join } from "node:path";
import { isMountPoint } from "../../../base/mounts.ts";
import type { LedServices, ServiceNetwork } from "../../../services/network.ts";
import type { PortMapping } from "../../config.ts";
import { find } from "../../host/isolation.ts";
import { unmountAll } from "../images/snapshots.ts";
import { ToolError, tool } from "../tools.ts";
import { Addresses, type ClusterNode } from "./addresses.ts";
import { bridgeName, clusterRange, gatewayAddress } from "./addressing.ts";
import { ensureBridge, removeBridgeOf, removeLink } from "./bridges.ts";
import { ensureJumps, restore } from "./chains.ts";
import { type Connection, connect, isConnected, linkName, makeRouter } from "./connect.ts";
import { endFlows, staleFlows } from "./flows.ts";
import { nodeJumps, nodeRules } from "./node-rules.ts";
import { clusterRules, jumpsOf, type Rules } from "./rules.ts";

export interface PodNetworkOptions {
  /** Shared by all nodes of a cluster on this machine; the cluster's network ends with it. */
  readonly directory: string;
  readonly nodeName: string;
  /** File for the network name space of the node; undefined if it has the machine's network. */
  readonly node?: string | undefined;
}

/** The network of a pod. */
export interface PodAttachment {
  readonly ip: string;
  /** Ignored fields, as in `Made.unsupported`. */
  readonly unsupported: readonly string[];
}

/** Interval in milliseconds at which an agent checks whether the leader of Services has ended. */
const leadInterval = 1000;

/**
 * Networks of pods on one machine: each cluster has a bridge with 10.X.0.0/16 whose name is the claim to it
 * (the kernel gives a name once), each pod a network name space with one end of a veth pair. Pods, the
 * machine and, where iptables is there, the world and Services reach each other. Packets between pods pass
 * the machine's own rules, since a pod has no neighbour but the machine: without that, answers of a Service's
 * endpoint would not find back.
 */
export class PodNetwork implements ServiceNetwork {
  readonly #options: PodNetworkOptions;
  readonly #addresses: Addresses;

  private constructor(options: PodNetworkOptions, addresses: Addresses) {
    this.#options = options;
    this.#addresses = addresses;
  }

  /** Throws an error that names what the machine lacks: a right, or a program. */
  static async open(options: PodNetworkOptions): Promise<PodNetwork> {
    const network = new PodNetwork(options, openAddresses(options.directory));
    try {
      await network.#addresses.database.exclusively("bridge", () => network.#makeBridge());
      network.#addresses.addNode(options.nodeName);
      await network.#makeNode();
      // Policies of Services refer to nodes.
      await network.#updateRules();
      return network;
    } catch (error) {
      network.close();
      throw error;
    }
  }

  /**
   * Reserves addresses for nodes in networks of their own, in the order of the names, before their agents
   * start. Undefined if nodes have the machine's network, since this machine lacks a program.
   */
  static async reserve(
    directory: string,
    nodes: readonly string[],
  ): Promise<ReadonlyMap<string, string> | undefined> {
    if (!ownNetworksWork()) return undefined;
    const network = new PodNetwork({ directory, nodeName: "" }, openAddresses(directory));
    try {
      await network.#addresses.database.exclusively("bridge", () => network.#makeBridge());
      for (const node of nodes) network.#addresses.addNode(node);
      return new Map(nodes.map((node) => [node, network.#addresses.nodeAddress(node)]));
    } finally {
      network.close();
    }
  }

  /** Removes reservations of nodes whose agents have never run, and the bridge with the last one. */
  static async release(directory: string): Promise<void> {
    const addresses = openAddresses(directory);
    try {
      await addresses.database.exclusively("bridge", async () => {
        if (!addresses.hasNodes) return;
        for (const { name } of addresses.nodes) addresses.removeNode(name);
        if (addresses.octet !== undefined) await removeBridgeOf(directory, addresses.octet);
      });
    } finally {
      addresses.close();
    }
  }

  close(): void {
    this.#addresses.close();
  }

  /** Addresses of the node, as in `spec.podCIDR` of a Node. */
  get range(): string {
    return this.#addresses.range(this.#options.nodeName);
  }

  /** The machine's address in the network, by which pods reach it. */
  get gateway(): string {
    return gatewayAddress(this.#addresses.octet ?? 0);
  }

  /** Address of the node in its own network; undefined if it has the machine's. */
  get nodeAddress(): string | undefined {
    const { node, nodeName } = this.#options;
    return node === undefined ? undefined : this.#addresses.nodeAddress(nodeName);
  }

  get bridge(): string {
    return bridgeName(this.#addresses.octet ?? 0);
  }

  /** Names programs and rights that this machine lacks. */
  get limits(): readonly string[] {
    return !ownNetworksWork()
      ? ["pods reach neither the world, Services nor ports of the node (iptables is not installed)"]
      : [];
  }

  async #makeBridge(): Promise<void> {
    const octet = await ensureBridge(this.#options.directory, this.#addresses.earlierOctet);
    if (this.#addresses.octet !== octet) this.#addresses.setOctet(octet);
    await this.#writeRules();
    if (this.limits.length === 0) await ensureJumps(jumpsOf(this.bridge));
  }

  /** Makes or keeps the node's own network, or removes one of an earlier agent. */
  async #makeNode(): Promise<void> {
    const { node, nodeName } = this.#options;
    if (node === undefined) return this.#removeNode();
    const connection = this.#connection(
      nodeKey(this.bridge, nodeName),
      node,
      this.#addresses.nodeAddress(nodeName),
    );
    // Pods of an earlier agent may be in it.
    if (!isMountPoint(node) || !(await isConnected(connection))) await connect(connection);
    await makeRouter(node);
    this.#addresses.setNodeNetwork(nodeName, node);
  }

  async #removeNode(): Promise<void> {
    const { nodeName } = this.#options;
    const namespace = this.#addresses.nodes.find(({ name }) => name === nodeName)?.namespace;
    this.#addresses.setNodeNetwork(nodeName, undefined);
    if (namespace === undefined) return;
    await removeLink(linkName(nodeKey(this.bridge, nodeName)));
    await unmountAll(namespace);
    await rm(namespace, { force: true });
  }

  #connection(key: string, namespace: string, ip: string): Connection {
    return { namespace, link: linkName(key), ip, gateway: this.gateway, bridge: this.bridge };
  }

  /**
   * Makes the network name space of a sandbox, held by the file `namespace`, and connects it. Repeating it
   * after a crash keeps the address.
   */
  async add(sandbox: string, namespace: string, ports: readonly PortMapping[]): Promise<PodAttachment> {
    const hasRules = this.limits.length === 0;
    const wanted = ports.filter(({ hostPort }) => hostPort > 0);
    for (const { hostIP } of wanted)
      if (hostIP !== "" && !isIPv4(hostIP))
        throw new ToolError(`hostIP ${hostIP} is not an IPv4 address`, undefined);
    const ip = this.#addresses.take(this.#options.nodeName, sandbox, hasRules ? wanted : []);
    try {
      await connect(this.#connection(sandbox, namespace, ip));
      if (this.#addresses.hasPorts(sandbox)) await this.#updateRules();
    } catch (error) {
      await this.remove(sandbox, namespace);
      throw error;
    }
    return {
      ip,
      unsupported: hasRules || wanted.length === 0 ? [] : ["hostPort (iptables is not installed)"],
    };
  }

  /** Address of a sandbox; undefined if it has none in this boot. */
  address(sandbox: string): string | undefined {
    return this.#addresses.find(sandbox);
  }

  /** Disconnects a sandbox; its name space ends with its last process. Ignores a missing one. */
  async remove(sandbox: string, namespace: string): Promise<void> {
    const hadPorts = this.#addresses.hasPorts(sandbox);
    await removeLink(linkName(sandbox));
    await unmountAll(namespace);
    await rm(namespace, { force: true });
    this.#addresses.free(sandbox);
    if (hadPorts) await this.#updateRules();
  }

  /** Removes remains of sandboxes that are not in `known`, left by a killed agent of this node. */
  async collect(known: ReadonlySet<string>, namespaceOf: (sandbox: string) => string): Promise<void> {
    for (const sandbox of this.#addresses.sandboxes(this.#options.nodeName))
      if (!known.has(sandbox)) await this.remove(sandbox, namespaceOf(sandbox));
  }

  /**
   * Releases the node's addresses, and removes the bridge with the last node. Sandboxes are removed before.
   */
  async destroy(): Promise<void> {
    await this.#addresses.database.exclusively("bridge", async () => {
      await this.#removeNode();
      this.#addresses.removeNode(this.#options.nodeName);
      if (this.#addresses.hasNodes) await this.#writeRules();
      else if (this.#addresses.octet !== undefined)
        await removeBridgeOf(this.#options.directory, this.#addresses.octet);
    });
  }

  /** Replaces the routes of Services, and the address of the cluster's DNS server. */
  async setServices(services: LedServices): Promise<void> {
    const { routes = [] } = this.#addresses.services ?? {};
    await this.#addresses.database.exclusively("bridge", async () => {
      await this.#writeRules(services);
      // Stored once this kernel has accepted them: the next agent writes them too.
      this.#addresses.setServices(services);
    });
    await endFlows(staleFlows(routes, services.routes));
  }

  /** Runs `work` while no other agent of the cluster on this machine runs one. */
  async lead(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#addresses.database.exclusively("services", work, { signal, interval: leadInterval });
  }

  #updateRules(): Promise<void> {
    return this.#addresses.database.exclusively("bridge", () => this.#writeRules());
  }

  /** Writes all rules again, in case another program has removed them, as firewalld does on reload. */
  async repair(): Promise<void> {
    if (this.limits.length > 0) return;
    await this.#addresses.database.exclusively("bridge", async () => {
      for (const { name } of this.#addresses.nodes) this.#addresses.setNodeRules(name, "");
      await this.#writeRules();
      await ensureJumps(jumpsOf(this.bridge));
    });
  }

  /** Replaces all rules of the cluster in one step, whatever a killed agent has left. */
  async #writeRules(services: LedServices | undefined = this.#addresses.services): Promise<void> {
    if (this.limits.length > 0) return;
    const { routes = [], dnsPort } = services ?? {};
    const ports = this.#addresses.ports();
    const { nodes } = this.#addresses;
    const rules = clusterRules({
      bridge: this.bridge,
      network: clusterRange(this.#addresses.octet ?? 0),
      ports,
      services: routes,
      nodes: nodes.map(({ name, range, address, namespace }) => ({
        name,
        range,
        address: namespace === undefined ? undefined : address,
      })),
      dns: dnsPort === undefined ? undefined : { address: this.gateway, port: dnsPort },
    });
    for (const [table, text] of rules) await restore(table, text);
    for (const node of nodes)
      await this.#writeNodeRules(
        node,
        nodeRules({ ...node, gateway: this.gateway, ports, services: routes }),
      );
  }

  /** Writes the rules of a node's own network, where they have changed: there are many nodes. */
  async #writeNodeRules({ name, namespace, rules: before }: ClusterNode, rules: Rules): Promise<void> {
    const text = JSON.stringify(rules);
    // The folder of a node whose agent was killed may be gone.
    if (namespace === undefined || text === before || !isMountPoint(namespace)) return;
    for (const [table, input] of rules) await restore(table, input, namespace);
    await ensureJumps(nodeJumps, namespace);
    this.#addresses.setNodeRules(name, text);
  }
}

/** Throws an error that names what the machine lacks. */
function openAddresses(directory: string): Addresses {
  for (const name of ["ip", "unshare", "nsenter", "mount", "umount"]) tool(name);
  if (process.getuid?.() !== 0)
    throw new ToolError("networks of pods need root: the agent runs as another user", undefined);
  return new Addresses(join(directory, "network.db"));
}

/** Reports whether this machine can route for networks of nodes: without it, they would reach nothing. */
export function ownNetworksWork(): boolean {
  return find("iptables-restore") !== undefined;
}

/** Identifies the link of a node among those of all sandboxes and clusters of the machine. */
const nodeKey = (bridge: string, node: string): string => `node ${node} of ${bridge}`;
