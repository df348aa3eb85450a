import { addressText, parseAddress } from "@dray/api/ip";

/**
 * 100.64.0.0/10 (RFC 6598): four million addresses that are unused on the internet. Nothing listens there;
 * EndpointSlices and their readers need distinct addresses.
 */
const first = (100n << 24n) + (64n << 16n);
const size = 1 << 22;

/** The addresses of simulated pods. */
export class PodAddresses {
  readonly #used = new Set<number>();
  #next = 1;

  /** Allocates an address. */
  take(): string {
    while (this.#used.has(this.#next)) this.#advance();
    const index = this.#next;
    this.#used.add(index);
    // A released address is not reused soon, since clients may still know it.
    this.#advance();
    return addressText({ bits: 32, value: first + BigInt(index), zone: "" });
  }

  /** Marks the address of an existing pod as used; ignores others. */
  occupy(address: string): void {
    const index = indexOf(address);
    if (index !== undefined) this.#used.add(index);
  }

  release(address: string): void {
    const index = indexOf(address);
    if (index !== undefined) this.#used.delete(index);
  }

  #advance(): void {
    this.#next = (this.#next + 1) % size;
  }
}

function indexOf(text: string): number | undefined {
  const address = parseAddress(text);
  if (typeof address === "string" || address.bits !== 32) return undefined;
  const index = Number(address.value - first);
  return index >= 0 && index < size ? index : undefined;
}
