import { addressText, parseAddress } from "@dray/api/ip";

/**
 * 100.64.0.0/10 (RFC 6598): four million addresses that are nobody's on the internet. Nothing listens there; that pods
 * have addresses of their own is what EndpointSlices and those who read them look for.
 */
const first = (100n << 24n) + (64n << 16n);
const size = 1 << 22;

/** The addresses of simulated pods. */
export class PodAddresses {
  readonly #used = new Set<number>();
  #next = 1;

  /** An address that no other pod has. */
  take(): string {
    while (this.#used.has(this.#next)) this.#advance();
    const index = this.#next;
    this.#used.add(index);
    // What was given back is not given out again soon: others may still know it as that of the pod before.
    this.#advance();
    return addressText({ bits: 32, value: first + BigInt(index), zone: "" });
  }

  /** Marks the address of a pod that was there before; others are left aside. */
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
