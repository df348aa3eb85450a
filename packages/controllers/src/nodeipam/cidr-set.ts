import { addressText, masked, type Network, networkText, parseNetwork } from "@dray/api/ip";

/** Upstream: pkg/controller/nodeipam/ipam/cidrset, clusterSubnetMaxDiff. */
const maxBits = 16;

/** Networks of one size out of a larger one, each of which is given to one node at a time. */
export class CidrSet {
  readonly bits: 32 | 128;
  readonly #network: Network;
  readonly #prefix: number;
  readonly #size: number;
  readonly #used = new Set<number>();
  /** Upstream gives out one after another, and what was given back when all others are taken. */
  #next = 0;

  /** Throws a RangeError if networks of that prefix length do not fit in. */
  constructor(network: Network, prefix: number) {
    this.bits = network.address.bits;
    const extra = prefix - network.prefix;
    if (extra < 0 || extra > maxBits || prefix > this.bits)
      throw new RangeError(
        `nodes cannot get a /${prefix} of ${networkText(network)}: use a prefix length from ${network.prefix} to ${Math.min(this.bits, network.prefix + maxBits)}`,
      );
    this.#network = masked(network);
    this.#prefix = prefix;
    this.#size = 2 ** extra;
  }

  /** Takes the next free network; undefined if all are taken. */
  take(): string | undefined {
    for (let tries = 0; tries < this.#size; tries++) {
      const index = (this.#next + tries) % this.#size;
      if (this.#used.has(index)) continue;
      this.#used.add(index);
      this.#next = (index + 1) % this.#size;
      return this.#text(index);
    }
    return undefined;
  }

  /** Marks what the network covers as taken; false for one of elsewhere. */
  occupy(cidr: string): boolean {
    return this.#each(cidr, (index) => this.#used.add(index));
  }

  release(cidr: string): void {
    this.#each(cidr, (index) => this.#used.delete(index));
  }

  #each(cidr: string, run: (index: number) => void): boolean {
    const other = parseNetwork(cidr);
    if (typeof other === "string" || other.address.bits !== this.bits) return false;
    const shift = BigInt(this.bits - this.#prefix);
    const { value } = masked(other).address;
    const first = (value - this.#network.address.value) >> shift;
    const last =
      (value + (1n << BigInt(this.bits - other.prefix)) - 1n - this.#network.address.value) >> shift;
    const end = BigInt(this.#size) - 1n;
    if (last < 0n || first > end) return false;
    for (let index = first < 0n ? 0n : first; index <= last && index <= end; index++) run(Number(index));
    return true;
  }

  #text(index: number): string {
    const value = this.#network.address.value + (BigInt(index) << BigInt(this.bits - this.#prefix));
    return `${addressText({ bits: this.bits, value, zone: "" })}/${this.#prefix}`;
  }
}
