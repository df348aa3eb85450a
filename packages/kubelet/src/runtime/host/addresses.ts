import { createHash } from "node:crypto";
import { type Claim, claimName } from "../../network/claim.ts";

/** Number of second octets, from 128 on, of pods' addresses; those of Services begin at 127.64. */
const octets = 62;

/**
 * The address that stands for 127.0.0.1 within the pod of an address: 127.2.0.0 to 127.63.255.255 are for
 * them.
 */
export function loopbackOf(podIP: string): string {
  return podIP.replace(/(?<=^127\.)\d+/, (octet) => String(Number(octet) - 126));
}

/**
 * Allocates addresses of 127.0.0.0/8, which the loopback device has without configuration. A node holds one
 * /24 of the machine, chosen by its root directory and claimed by an abstract socket, so that two clusters do
 * not collide.
 */
export class AddressPool {
  readonly #claim: Claim | undefined;
  readonly #prefix: string;
  readonly #used = new Set<string>();
  #last = 0;

  private constructor(prefix: string, claim: Claim | undefined) {
    this.#prefix = prefix;
    this.#claim = claim;
  }

  /** `preferred` is the prefix of the last time (`127.66.7`), which running pods still use. */
  static async claim(rootDir: string, preferred: string | undefined): Promise<AddressPool> {
    if (preferred !== undefined) {
      // Another node has claimed it meanwhile; addresses in use stay ours all the same.
      return new AddressPool(preferred, await listen(preferred));
    }
    const hash = createHash("sha256").update(rootDir).digest();
    for (let offset = 0; offset < 1000; offset++) {
      const number = (hash.readUInt16BE(0) + offset * 257) % (octets * 256);
      // Systems use 127.0.0.0/16 and 127.1.0.0/16 themselves.
      const prefix = `127.${128 + Math.floor(number / 256)}.${number % 256}`;
      const claim = await listen(prefix);
      if (claim !== undefined) return new AddressPool(prefix, claim);
    }
    throw new Error("no range from 127.128.0.0 to 127.189.255.255 is free for pods on this machine");
  }

  get prefix(): string {
    return this.#prefix;
  }

  /** Marks an address of an existing sandbox as used. */
  take(ip: string): void {
    this.#used.add(ip);
  }

  /** Returns the least recently used free address. */
  allocate(): string {
    for (let tries = 0; tries < 254; tries++) {
      this.#last = (this.#last % 254) + 1;
      const ip = `${this.#prefix}.${this.#last}`;
      if (!this.#used.has(ip)) {
        this.#used.add(ip);
        return ip;
      }
    }
    throw new Error(`all 254 pod addresses of ${this.#prefix}.0/24 are in use`);
  }

  free(ip: string): void {
    this.#used.delete(ip);
  }

  close(): void {
    this.#claim?.close();
  }
}

function listen(prefix: string): Promise<Claim | undefined> {
  return claimName(`dray-pods-${prefix}`);
}
