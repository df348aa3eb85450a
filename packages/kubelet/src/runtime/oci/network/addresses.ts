import type { LedServices } from "../../../services/network.ts";
import type { PortMapping } from "../../config.ts";
import { bootId } from "../../host/processes.ts";
import { SharedDatabase } from "../database.ts";
import { maxNodes, nodeAddress, nodeSize } from "./addressing.ts";

const schema = `
CREATE TABLE IF NOT EXISTS cluster (one INTEGER PRIMARY KEY CHECK (one = 1), octet INTEGER NOT NULL, boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS nodes (name TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS addresses (sandbox TEXT PRIMARY KEY, node TEXT NOT NULL, place INTEGER NOT NULL, boot TEXT NOT NULL,
  UNIQUE (node, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS node_networks (name TEXT PRIMARY KEY, namespace TEXT NOT NULL, rules TEXT NOT NULL,
  boot TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS host_ports (node TEXT NOT NULL, protocol TEXT NOT NULL, address TEXT NOT NULL,
  port INTEGER NOT NULL, sandbox TEXT NOT NULL REFERENCES addresses ON DELETE CASCADE, target INTEGER NOT NULL,
  PRIMARY KEY (node, protocol, address, port)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS services (one INTEGER PRIMARY KEY CHECK (one = 1), routes TEXT NOT NULL, boot TEXT NOT NULL);
`;

/** A port of a node that is mapped to a pod. */
export interface PortRule {
  /** Address of the node; undefined if it has the machine's network. */
  readonly nodeAddress: string | undefined;
  readonly protocol: string;
  /** Empty for all addresses of the node. */
  readonly address: string;
  readonly port: number;
  readonly sandbox: string;
  readonly targetAddress: string;
  readonly targetPort: number;
}

/** A node of the cluster on this machine. */
export interface ClusterNode {
  readonly name: string;
  /** Addresses of its pods: `10.244.2.0/23`. */
  readonly range: string;
  readonly address: string;
  /** File of the node's own network name space; undefined if it has the machine's network. */
  readonly namespace: string | undefined;
  /** Rules in that name space. */
  readonly rules: string;
}

/**
 * Addresses of one cluster on one machine, whose nodes may be several processes. Those of an earlier boot are
 * free.
 */
export class Addresses {
  readonly database: SharedDatabase;

  constructor(path: string) {
    this.database = new SharedDatabase(path, schema);
  }

  close(): void {
    this.database.close();
  }

  /** Octet of the cluster in this boot; undefined before it was chosen. */
  get octet(): number | undefined {
    const row = this.database.sql.prepare("SELECT octet FROM cluster WHERE boot = ?").get(bootId());
    return row === undefined ? undefined : Number(row["octet"]);
  }

  /** Octet of an earlier boot, which is preferred if it is free. */
  get earlierOctet(): number | undefined {
    const row = this.database.sql.prepare("SELECT octet FROM cluster").get();
    return row === undefined ? undefined : Number(row["octet"]);
  }

  setOctet(octet: number): void {
    this.database.transaction(() => {
      this.database.sql.prepare("INSERT OR REPLACE INTO cluster VALUES (1, ?, ?)").run(octet, bootId());
      // Nothing of an earlier network is left.
      this.database.sql.prepare("DELETE FROM addresses WHERE boot <> ?").run(bootId());
    });
  }

  /** Assigns a range to a node, the same each time. Throws if there are too many nodes. */
  addNode(name: string): void {
    this.database.transaction(() => {
      const { sql } = this.database;
      if (sql.prepare("SELECT 1 FROM nodes WHERE name = ?").get(name) !== undefined) return;
      const numbers = new Set(
        sql
          .prepare("SELECT number FROM nodes")
          .all()
          .map((row) => Number(row["number"])),
      );
      for (let number = 1; number <= maxNodes; number++)
        if (!numbers.has(number)) {
          sql.prepare("INSERT INTO nodes VALUES (?, ?, 0)").run(name, number);
          return;
        }
      throw new Error(`${this.database}: ${maxNodes} nodes have all address ranges of the cluster`);
    });
  }

  /** Releases a node's range. It must have no pods any more. */
  removeNode(name: string): void {
    this.database.transaction(() => {
      this.database.sql.prepare("DELETE FROM addresses WHERE node = ?").run(name);
      this.database.sql.prepare("DELETE FROM node_networks WHERE name = ?").run(name);
      this.database.sql.prepare("DELETE FROM nodes WHERE name = ?").run(name);
    });
  }

  get hasNodes(): boolean {
    return this.database.sql.prepare("SELECT 1 FROM nodes").get() !== undefined;
  }

  /** All nodes, by name. */
  get nodes(): readonly ClusterNode[] {
    const rows = this.database.sql
      .prepare(
        "SELECT nodes.name, number, namespace, rules FROM nodes LEFT JOIN node_networks ON nodes.name = node_networks.name AND boot = ? ORDER BY nodes.name",
      )
      .all(bootId());
    return rows.map(({ name, number, namespace, rules }) => ({
      name: String(name),
      range: `${this.#address(Number(number), 0)}/23`,
      address: nodeAddress(this.octet ?? 0, Number(number)),
      namespace: namespace === null ? undefined : String(namespace),
      rules: String(rules ?? ""),
    }));
  }

  /** Address of a node in a network of its own. */
  nodeAddress(node: string): string {
    return nodeAddress(this.octet ?? 0, this.#number(node));
  }

  /** Records the network name space of a node; undefined if it has the machine's network. */
  setNodeNetwork(node: string, namespace: string | undefined): void {
    this.database.transaction(() => {
      const { sql } = this.database;
      sql.prepare("DELETE FROM node_networks WHERE name = ?").run(node);
      if (namespace !== undefined)
        sql.prepare("INSERT INTO node_networks VALUES (?, ?, '', ?)").run(node, namespace, bootId());
    });
  }

  /** Records the rules that are in the network name space of a node. */
  setNodeRules(node: string, rules: string): void {
    this.database.transaction(() =>
      this.database.sql.prepare("UPDATE node_networks SET rules = ? WHERE name = ?").run(rules, node),
    );
  }

  /** Last argument of `setServices` in this boot. */
  get services(): LedServices | undefined {
    const row = this.database.sql.prepare("SELECT routes FROM services WHERE boot = ?").get(bootId());
    // Written by this program.
    return row === undefined ? undefined : (JSON.parse(String(row["routes"])) as LedServices);
  }

  setServices(services: LedServices): void {
    this.database.transaction(() =>
      this.database.sql
        .prepare("INSERT OR REPLACE INTO services VALUES (1, ?, ?)")
        .run(JSON.stringify(services), bootId()),
    );
  }

  /** `10.244.2.0/23` */
  range(node: string): string {
    return `${this.#address(this.#number(node), 0)}/23`;
  }

  #number(node: string): number {
    const row = this.database.sql.prepare("SELECT number FROM nodes WHERE name = ?").get(node);
    if (row === undefined) throw new Error(`${this.database}: no node ${node}`);
    return Number(row["number"]);
  }

  #address(number: number, place: number): string {
    const offset = number * nodeSize + place;
    return `10.${this.octet}.${offset >> 8}.${offset & 255}`;
  }

  /**
   * Allocates an address and ports for a sandbox. Addresses are reused as late as possible, since clients may
   * remember them. Throws if all are in use, or if another sandbox has one of the ports.
   */
  take(node: string, sandbox: string, ports: readonly PortMapping[]): string {
    return this.database.transaction(() => {
      const { sql } = this.database;
      const known = this.find(sandbox);
      if (known !== undefined) return known;
      const row = sql.prepare("SELECT last FROM nodes WHERE name = ?").get(node);
      const used = new Set(
        sql
          .prepare("SELECT place FROM addresses WHERE node = ?")
          .all(node)
          .map((one) => Number(one["place"])),
      );
      let place = Number(row?.["last"] ?? 0);
      let tries = 0;
      // The last byte is neither 0 nor 255, which some programs take for networks.
      do place = (place + 1) % nodeSize;
      while (++tries <= nodeSize && (used.has(place) || (place & 255) === 0 || (place & 255) === 255));
      if (tries > nodeSize)
        throw new Error(`node ${node} has no free address: ${used.size} pods have all of them`);
      sql.prepare("INSERT INTO addresses VALUES (?, ?, ?, ?)").run(sandbox, node, place, bootId());
      sql.prepare("UPDATE nodes SET last = ? WHERE name = ?").run(place, node);
      for (const port of ports) this.#takePort(node, sandbox, port);
      return this.#address(this.#number(node), place);
    });
  }

  #takePort(node: string, sandbox: string, { protocol, hostIP, hostPort, containerPort }: PortMapping): void {
    const { sql } = this.database;
    const address = hostIP === "0.0.0.0" ? "" : hostIP;
    const own = this.nodes.find(({ name }) => name === node)?.namespace !== undefined;
    // Nodes with the machine's network share its ports.
    const rivals = own ? "node = ?1" : "node NOT IN (SELECT name FROM node_networks) AND ?1 <> ''";
    const taken = sql
      .prepare(
        `SELECT sandbox FROM host_ports WHERE ${rivals} AND protocol = ?2 AND port = ?3 AND (address = ?4 OR address = '' OR ?4 = '')`,
      )
      .get(node, protocol, hostPort, address);
    if (taken !== undefined)
      throw new Error(
        own
          ? `port ${hostPort}/${protocol} of the node leads to the sandbox ${taken["sandbox"]} already`
          : `port ${hostPort}/${protocol} of the machine leads to the sandbox ${taken["sandbox"]} already; nodes with the machine's network (--host-network=machine) share its ports`,
      );
    sql
      .prepare("INSERT INTO host_ports VALUES (?, ?, ?, ?, ?, ?)")
      .run(node, protocol, address, hostPort, sandbox, containerPort);
  }

  find(sandbox: string): string | undefined {
    const row = this.database.sql
      .prepare("SELECT number, place FROM addresses JOIN nodes ON node = name WHERE sandbox = ? AND boot = ?")
      .get(sandbox, bootId());
    return row === undefined ? undefined : this.#address(Number(row["number"]), Number(row["place"]));
  }

  free(sandbox: string): void {
    this.database.transaction(() =>
      this.database.sql.prepare("DELETE FROM addresses WHERE sandbox = ?").run(sandbox),
    );
  }

  /** Sandboxes of a node with addresses. */
  sandboxes(node: string): readonly string[] {
    const rows = this.database.sql.prepare("SELECT sandbox FROM addresses WHERE node = ?").all(node);
    return rows.map((row) => String(row["sandbox"]));
  }

  hasPorts(sandbox: string): boolean {
    return this.database.sql.prepare("SELECT 1 FROM host_ports WHERE sandbox = ?").get(sandbox) !== undefined;
  }

  /** Ports of all nodes; those of the first node come first. */
  ports(): readonly PortRule[] {
    const networks = new Map(this.nodes.map((node) => [node.name, node]));
    const rows = this.database.sql
      .prepare(
        "SELECT host_ports.node, protocol, address, port, host_ports.sandbox, target, number, place FROM host_ports JOIN addresses ON host_ports.sandbox = addresses.sandbox JOIN nodes ON addresses.node = name ORDER BY address DESC, number, port, protocol",
      )
      .all();
    return rows.map((row) => {
      const node = networks.get(String(row["node"]));
      return {
        nodeAddress: node?.namespace === undefined ? undefined : node.address,
        protocol: String(row["protocol"]).toLowerCase(),
        address: String(row["address"]),
        port: Number(row["port"]),
        sandbox: String(row["sandbox"]),
        targetAddress: this.#address(Number(row["number"]), Number(row["place"])),
        targetPort: Number(row["target"]),
      };
    });
  }
}
