import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { join } from "node:path";
import type { LedServices, ServiceNetwork } from "../../../services/network.ts";
import type { PortMapping } from "../../config.ts";
import { find } from "../../host/isolation.ts";
import { SharedDatabase } from "../database.ts";
import { unmountAll } from "../images/snapshots.ts";
import { runTool, ToolError, tool } from "../tools.ts";
import { Addresses } from "./addresses.ts";
import { ensureJumps, removeChains, restore } from "./chains.ts";
import { endFlows, staleFlows } from "./flows.ts";
import { clusterRules } from "./rules.ts";

export interface PodNetworkOptions {
  /** Shared by all nodes of a cluster on this machine; the cluster's network ends with it. */
  readonly directory: string;
  readonly nodeName: string;
}

/** The network of a pod. */
export interface PodAttachment {
  readonly ip: string;
  /** Ignored fields, as in `Made.unsupported`. */
  readonly unsupported: readonly string[];
}

/** Second octets of the networks 10.X.0.0/16 from which clusters choose, in this order. */
const octets = Array.from({ length: 155 }, (_, i) => (i < 55 ? 200 + i : 45 + i));

/** Interval in milliseconds at which an agent checks whether the leader of Services has ended. */
const leadInterval = 1000;

/** Maximum length of an interface's alias, which identifies the owner of a bridge. */
const maxAlias = 250;

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
    for (const name of ["ip", "unshare", "nsenter", "mount", "umount"]) tool(name);
    if (process.getuid?.() !== 0)
      throw new ToolError("networks of pods need root: the agent runs as another user", undefined);
    const network = new PodNetwork(options, new Addresses(join(options.directory, "network.db")));
    try {
      await network.#addresses.database.exclusively("bridge", () => network.#makeBridge());
      network.#addresses.addNode(options.nodeName);
      // Policies of Services refer to nodes.
      await network.#updateRules();
      return network;
    } catch (error) {
      network.close();
      throw error;
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
    return `10.${this.#addresses.octet}.0.1`;
  }

  get bridge(): string {
    return bridgeName(this.#addresses.octet ?? 0);
  }

  /** Names programs and rights that this machine lacks. */
  get limits(): readonly string[] {
    return find("iptables-restore") === undefined
      ? ["pods reach neither the world, Services nor ports of the node (iptables is not installed)"]
      : [];
  }

  async #makeBridge(): Promise<void> {
    const alias = aliasOf(this.#options.directory);
    const octet = await alone(async () => {
      await removeForsaken();
      return (await bridges()).find((bridge) => bridge.alias === alias)?.octet ?? (await this.#claim(alias));
    });
    if (this.#addresses.octet !== octet) this.#addresses.setOctet(octet);
    const name = bridgeName(octet);
    await runTool("ip", ["-batch", "-"], {
      input: `link set ${name} alias ${alias}\naddr replace 10.${octet}.0.1/16 dev ${name}\nlink set ${name} up\n`,
    });
    // Packets to a port of 127.0.0.1 that is mapped to a pod leave by the bridge.
    sysctl(`net/ipv4/conf/${name}/route_localnet`);
    sysctl("net/ipv4/ip_forward");
    await this.#writeRules();
    if (this.limits.length === 0) await ensureJumps(name);
  }

  /** Claims the first network that is unused on this machine. */
  async #claim(alias: string): Promise<number> {
    const routes = JSON.parse(await runTool("ip", ["-4", "-json", "route", "show", "table", "all"])) as {
      dst?: string;
    }[];
    const taken = routes.flatMap(({ dst }) => (dst === undefined ? [] : [dst]));
    const earlier = this.#addresses.earlierOctet;
    for (const octet of earlier === undefined ? octets : [earlier, ...octets]) {
      if (taken.some((route) => overlaps(route, octet))) continue;
      try {
        await runTool("ip", ["link", "add", bridgeName(octet), "alias", alias, "type", "bridge"]);
        return octet;
      } catch (error) {
        // Another cluster has claimed it.
        if (!/File exists/.test((error as Error).message)) throw error;
      }
    }
    throw new ToolError(
      "every network from 10.100.0.0/16 to 10.254.0.0/16 is taken on this machine",
      undefined,
    );
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
      await this.#connect(sandbox, namespace, ip);
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

  async #connect(sandbox: string, namespace: string, ip: string): Promise<void> {
    const outer = linkName(sandbox);
    await unmountAll(namespace);
    writeFileSync(namespace, "", { flag: "a", mode: 0o600 });
    await removeLink(outer);
    // One end is made in the name space, the other one in this process's.
    await runTool("unshare", [`--net=${namespace}`, "--", "/bin/sh", "-c", connectScript, tool("ip")], {
      input: `link set lo up
link add eth0 type veth peer name ${outer} netns ${process.pid}
addr add ${ip}/32 dev eth0
link set eth0 up
route add ${this.gateway} dev eth0 scope link
route add default via ${this.gateway}
`,
    });
    await runTool("ip", ["-batch", "-"], {
      input: `link set ${outer} master ${this.bridge}
link set ${outer} type bridge_slave hairpin on
link set ${outer} up
`,
    });
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
      this.#addresses.removeNode(this.#options.nodeName);
      if (this.#addresses.hasNodes) await this.#writeRules();
      else await removeBridge(this.bridge);
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
      await this.#writeRules();
      await ensureJumps(this.bridge);
    });
  }

  /** Replaces all rules of the cluster in one step, whatever a killed agent has left. */
  async #writeRules(services: LedServices | undefined = this.#addresses.services): Promise<void> {
    if (this.limits.length > 0) return;
    const { routes = [], dnsPort } = services ?? {};
    const rules = clusterRules({
      bridge: this.bridge,
      network: `10.${this.#addresses.octet}.0.0/16`,
      ports: this.#addresses.ports(),
      services: routes,
      nodes: this.#addresses.nodes,
      dns: dnsPort === undefined ? undefined : { address: this.gateway, port: dnsPort },
    });
    for (const [table, text] of rules) await restore(table, text);
  }
}

/** Configures a name space from its input. Without it the machine would redirect pods past its rules. */
const connectScript =
  '"$0" -batch - && for file in /proc/sys/net/ipv4/conf/*/accept_redirects; do echo 0 >"$file" || exit 1; done';

/** Name of the machine's end of a veth pair. */
export function linkName(sandbox: string): string {
  return `dv${createHash("sha256").update(sandbox).digest("hex").slice(0, 12)}`;
}

function bridgeName(octet: number): string {
  return `dray-${octet}`;
}

/** A path that is too long for an alias is hashed: such a bridge is never taken for an orphan. */
function aliasOf(directory: string): string {
  return directory.length <= maxAlias && /^[\x21-\x7e]+$/.test(directory)
    ? directory
    : `sha256:${createHash("sha256").update(directory).digest("hex")}`;
}

async function bridges(): Promise<readonly { readonly octet: number; readonly alias: string | undefined }[]> {
  const links = JSON.parse((await runTool("ip", ["-json", "link", "show", "type", "bridge"])) || "[]") as {
    ifname?: string;
    ifalias?: string;
  }[];
  return links.flatMap(({ ifname, ifalias }) => {
    const octet = /^dray-(\d+)$/.exec(ifname ?? "")?.[1];
    return octet === undefined ? [] : [{ octet: Number(octet), alias: ifalias }];
  });
}

/** Lock of all clusters on this machine; removed by a reboot, as bridges are. */
const machineLock = "/run/dray/networks.db";

/**
 * Runs `work` while no agent of any cluster on this machine does: a bridge that two agents remove may belong
 * to a third one by then.
 */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  const database = new SharedDatabase(machineLock, "");
  try {
    return await database.exclusively("networks", work);
  } finally {
    database.close();
  }
}

/** Removes bridges of clusters whose folder is gone. */
async function removeForsaken(): Promise<void> {
  for (const { octet, alias } of await bridges())
    if (alias?.startsWith("/") && !existsSync(alias)) await removeBridge(bridgeName(octet));
}

async function removeBridge(bridge: string): Promise<void> {
  if (find("iptables-restore") !== undefined) await removeChains(bridge);
  await removeLink(bridge);
}

async function removeLink(name: string): Promise<void> {
  await runTool("ip", ["link", "delete", name]).catch((error: Error) => {
    if (!/Cannot find device/.test(error.message)) throw error;
  });
}

function sysctl(name: string): void {
  try {
    writeFileSync(`/proc/sys/${name}`, "1\n");
  } catch (error) {
    throw new ToolError(
      `cannot set the system parameter ${name.replaceAll("/", ".")} to 1: ${(error as Error).message}`,
      undefined,
    );
  }
}

/** Returns true if a route is in 10.OCTET.0.0/16; the default route does not count. */
function overlaps(route: string, octet: number): boolean {
  const [address = "", length = "32"] = route.split("/");
  if (!isIPv4(address)) return false;
  const number = (text: string): number => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const bits = Math.min(Number(length), 16);
  const size = 2 ** (32 - bits);
  return Math.floor(number(address) / size) === Math.floor(number(`10.${octet}.0.0`) / size);
}
