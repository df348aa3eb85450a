import type { LedServices } from "../../../services/network.ts";
import type { PortMapping } from "../../config.ts";
import { bootId } from "../../host/processes.ts";
import { SharedDatabase } from "../database.ts";

const schema = `
CREATE TABLE IF NOT EXISTS cluster (one INTEGER PRIMARY KEY CHECK (one = 1), octet INTEGER NOT NULL, boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS nodes (name TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS addresses (sandbox TEXT PRIMARY KEY, node TEXT NOT NULL, place INTEGER NOT NULL, boot TEXT NOT NULL,
  UNIQUE (node, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ports (protocol TEXT NOT NULL, address TEXT NOT NULL, port INTEGER NOT NULL,
  sandbox TEXT NOT NULL REFERENCES addresses ON DELETE CASCADE, target INTEGER NOT NULL,
  PRIMARY KEY (protocol, address, port)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS services (one INTEGER PRIMARY KEY CHECK (one = 1), routes TEXT NOT NULL, boot TEXT NOT NULL);
`;

/**
 * A cluster has 10.OCTET.0.0/16, and each of its nodes 512 addresses of it; the first 512 are the machine's
 * own.
 */
const nodeSize = 512;
const maxNodes = 65536 / nodeSize - 1;

/** A port of the machine that is mapped to a pod. */
export interface PortRule {
  readonly protocol: string;
  /** Empty for all addresses of the machine. */
  readonly address: string;
  readonly port: number;
  readonly sandbox: string;
  readonly targetAddress: string;
  readonly targetPort: number;
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
      this.database.sql.prepare("DELETE FROM nodes WHERE name = ?").run(name);
    });
  }

  get hasNodes(): boolean {
    return this.database.sql.prepare("SELECT 1 FROM nodes").get() !== undefined;
  }

  /** All nodes with their ranges, by name. */
  get nodes(): readonly { readonly name: string; readonly range: string }[] {
    const rows = this.database.sql.prepare("SELECT name, number FROM nodes ORDER BY name").all();
    return rows.map(({ name, number }) => ({
      name: String(name),
      range: `${this.#address(Number(number), 0)}/23`,
    }));
  }

  /** Last argument of `setServices` in this boot. */
  get services(): LedServices | undefined {
    const row = this.database.sql.prepare("SELECT routes FROM services WHERE boot = ?").get(bootId());
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
      for (const port of ports) this.#takePort(sandbox, port);
      return this.#address(this.#number(node), place);
    });
  }

  #takePort(sandbox: string, { protocol, hostIP, hostPort, containerPort }: PortMapping): void {
    const { sql } = this.database;
    const taken = sql
      .prepare(
        "SELECT sandbox FROM ports WHERE protocol = ? AND port = ? AND (address = ? OR address = '' OR ? = '')",
      )
      .get(protocol, hostPort, hostIP, hostIP);
    if (taken !== undefined)
      throw new Error(
        `port ${hostPort}/${protocol} of the machine leads to the sandbox ${taken["sandbox"]} already; the nodes of a cluster on one machine share its ports`,
      );
    sql
      .prepare("INSERT INTO ports VALUES (?, ?, ?, ?, ?)")
      .run(protocol, hostIP, hostPort, sandbox, containerPort);
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
    return this.database.sql.prepare("SELECT 1 FROM ports WHERE sandbox = ?").get(sandbox) !== undefined;
  }

  ports(): readonly PortRule[] {
    const rows = this.database.sql
      .prepare(
        "SELECT protocol, address, port, ports.sandbox, target, number, place FROM ports JOIN addresses ON ports.sandbox = addresses.sandbox JOIN nodes ON node = name ORDER BY address DESC, port, protocol",
      )
      .all();
    return rows.map((row) => ({
      protocol: String(row["protocol"]).toLowerCase(),
      address: String(row["address"]),
      port: Number(row["port"]),
      sandbox: String(row["sandbox"]),
      targetAddress: this.#address(Number(row["number"]), Number(row["place"])),
      targetPort: Number(row["target"]),
    }));
  }
}
