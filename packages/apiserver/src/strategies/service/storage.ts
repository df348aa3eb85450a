import type { KubeObject } from "@dray/api";
import type { Service } from "@dray/api/core/v1";
import type { Clock, Log } from "@dray/client";
import type { Store } from "@dray/store";
import type { Stored } from "../../storage/cache.ts";
import { objectKey, resourceOfKey } from "../../storage/keys.ts";
import { type Encode, Storage } from "../../storage/storage.ts";
import { Addresses, heldAddresses } from "./addresses.ts";
import { NodePorts, type PortRange } from "./ports.ts";
import type { Family } from "./ranges.ts";

/** Makes and removes IPAddress objects. */
export interface IPAddressWriter {
  /** False where there is one already. */
  create(address: string, service: Service): Promise<boolean>;
  /** What is not there is removed. */
  remove(address: string): Promise<void>;
}

/**
 * A storage in which no service has an address or a port of another one. Before a service is written its addresses get
 * their IPAddress objects, of which there is one at most, whichever server writes; addresses that a service no longer
 * has lose theirs after the write (KEP-1880).
 */
export class ServiceStorage extends Storage {
  /** Families of the cluster's ranges, that of services that do not ask for one first. */
  readonly families: readonly Family[];
  readonly addresses: Addresses;
  readonly ports: NodePorts;
  /** Set once, by who has the means. */
  writer: IPAddressWriter | undefined;

  constructor(
    store: Store,
    clock: Clock,
    log: Log,
    encode: Encode,
    families: readonly Family[],
    ports: PortRange,
    random: () => number,
  ) {
    super(store, clock, log, encode);
    this.families = families;
    this.addresses = new Addresses(this, random);
    this.ports = new NodePorts(this, ports, random);
  }

  #stored(key: string): Service | undefined {
    return this.cache("services").get(key)?.object as Service | undefined;
  }

  override async put(
    key: string,
    object: KubeObject,
    modRevision: number,
    ttl?: number,
  ): Promise<Stored | undefined> {
    if (resourceOfKey(key) !== "services") return super.put(key, object, modRevision, ttl);
    const service = object as Service;
    const present = this.#stored(key);
    if (modRevision === 0 && present) return undefined;
    const before = heldAddresses(present);
    const made: string[] = [];
    const unclaim = this.ports.claim(service, present?.spec);
    let stored: Stored | undefined;
    try {
      for (const address of heldAddresses(service)) {
        if (!before.includes(address)) made.push(await this.#take(address, service));
      }
      stored = await super.put(key, service, modRevision, ttl);
    } finally {
      unclaim();
      if (stored === undefined) await this.#release(made);
    }
    if (stored === undefined) return undefined;
    const now = heldAddresses(service);
    await this.#release(before.filter((address) => !now.includes(address)));
    return stored;
  }

  override async delete(key: string, modRevision: number): Promise<number | undefined> {
    if (resourceOfKey(key) !== "services") return super.delete(key, modRevision);
    const service = this.#stored(key);
    const revision = await super.delete(key, modRevision);
    if (revision === undefined || service === undefined) return revision;
    // A new service of this name shall not begin with the endpoints of the old one.
    const { namespace, name } = service.metadata;
    const endpoints = this.cache("endpoints").get(objectKey("endpoints", namespace, name));
    if (endpoints) await super.delete(endpoints.key, endpoints.revision);
    await this.#release(heldAddresses(service));
    return revision;
  }

  /** The address, or another one if it was nobody's wish and is somebody else's by now. Throws 422. */
  async #take(address: string, service: Service): Promise<string> {
    for (let wanted = address; ; ) {
      if (await this.#writer().create(wanted, service)) return wanted;
      const other = this.addresses.instead(service, wanted);
      if (other === undefined) throw this.addresses.alreadyTaken(service, wanted);
      wanted = other;
    }
  }

  #writer(): IPAddressWriter {
    if (this.writer === undefined) throw new TypeError("nothing writes IPAddress objects");
    return this.writer;
  }

  async #release(addresses: readonly string[]): Promise<void> {
    for (const address of addresses) await this.#writer().remove(address);
  }
}
