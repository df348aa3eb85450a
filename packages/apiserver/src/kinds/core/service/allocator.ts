import type { KubeObject } from "@dray/api";
import type { Service } from "@dray/api/core/v1";
import { objectKey } from "../../../storage/keys.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { ChosenValues, Reservation } from "../../strategy.ts";
import { Addresses, heldAddresses } from "./addresses.ts";
import { NodePorts, type PortRange } from "./ports.ts";
import type { Family } from "./ranges.ts";

/** Makes and removes IPAddress objects. */
export interface IPAddressWriter {
  /** False if the address has an object already. */
  create(address: string, service: Service): Promise<boolean>;
  /** Does nothing if the object does not exist. */
  remove(address: string): Promise<void>;
}

export interface ServiceAllocatorOptions {
  readonly storage: Storage;
  /** Families of the cluster's ranges; services that ask for none get the first. */
  readonly families: readonly Family[];
  readonly nodePorts: PortRange;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
}

/**
 * Sees to it that no service has an address or a port of another one. Before a service is stored its
 * addresses get their IPAddress objects, of which there is at most one, whichever server writes; addresses
 * that a service no longer has lose theirs after the write (KEP-1880).
 */
export class ServiceAllocator {
  readonly families: readonly Family[];
  readonly addresses: Addresses;
  readonly ports: NodePorts;
  /** Set once, when the server can write objects. */
  writer: IPAddressWriter | undefined;
  readonly #storage: Storage;

  constructor({ storage, families, nodePorts, random }: ServiceAllocatorOptions) {
    this.families = families;
    this.addresses = new Addresses(storage, random);
    this.ports = new NodePorts(storage, nodePorts, random);
    this.#storage = storage;
  }

  /** Takes the addresses and ports of a service that is about to be stored. Throws 422. */
  async reserve(key: string, service: Service, chosen: ChosenValues): Promise<Reservation> {
    const present = this.#storage.cache("services").get(key)?.object as Service | undefined;
    const before = heldAddresses(present);
    const made: string[] = [];
    const unclaim = this.ports.claim(service, present?.spec, chosen);
    const release = async (): Promise<void> => {
      unclaim();
      await this.#remove(made);
    };
    try {
      for (const address of heldAddresses(service)) {
        if (!before.includes(address)) made.push(await this.#take(address, service, chosen));
      }
    } catch (error) {
      await release();
      throw error;
    }
    const commit = async (): Promise<void> => {
      unclaim();
      const now = heldAddresses(service);
      await this.#remove(before.filter((address) => !now.includes(address)));
    };
    return { commit, release };
  }

  /** Gives back the addresses of a service that is gone, and removes its endpoints. */
  async afterDelete(service: Service): Promise<void> {
    await this.#removeEndpoints(service);
    await this.#remove(heldAddresses(service));
  }

  /** Deletes the endpoints, so that a new service of the same name does not start with them. */
  async #removeEndpoints({ metadata: { namespace, name } }: KubeObject): Promise<void> {
    const endpoints = this.#storage.cache("endpoints").get(objectKey("endpoints", namespace, name));
    if (endpoints) await this.#storage.delete(endpoints.key, endpoints.revision);
  }

  /**
   * Returns the address, or another one if no client asked for it and it has been taken by now. Throws 422.
   */
  async #take(address: string, service: Service, chosen: ChosenValues): Promise<string> {
    for (let wanted = address; ; ) {
      if (await this.#writer().create(wanted, service)) return wanted;
      const other = this.addresses.instead(service, wanted, chosen);
      if (other === undefined) throw this.addresses.alreadyTaken(service, wanted);
      wanted = other;
    }
  }

  #writer(): IPAddressWriter {
    if (this.writer === undefined) throw new TypeError("nothing writes IPAddress objects");
    return this.writer;
  }

  async #remove(addresses: readonly string[]): Promise<void> {
    for (const address of addresses) await this.#writer().remove(address);
  }
}
