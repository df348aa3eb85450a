import { createHash } from "node:crypto";
import { type Claim, claimName } from "@dray/kubelet/machine";

/** Range of the addresses of Services that this process holds on the machine. */
export interface ServiceRange {
  /** `127.64.16.0/20` */
  readonly cidr: string;
  /** Address of the Service `kubernetes`. */
  readonly first: string;
  release(): void;
}

/**
 * Number of ranges: 127.64.0.0/10 in pieces of 4096 addresses. Pods have addresses of 127.128.0.0/9, systems
 * use the first ones of 127.0.0.0/8.
 */
const count = 1024;

/**
 * Claims a range of addresses of the loopback device for the Services of a cluster: the preferred one, or one
 * that follows from the folder of its data, unless another cluster that runs on the machine has it.
 */
export async function claimServiceRange(dataDir: string, preferred?: string): Promise<ServiceRange> {
  const hash = createHash("sha256").update(dataDir).digest().readUInt32BE();
  const candidates = Array.from({ length: count }, (_, offset) => rangeOf((hash + offset * 257) % count));
  for (const { cidr, first } of [...candidates.filter((each) => each.cidr === preferred), ...candidates]) {
    const claim: Claim | undefined = await claimName(`dray-service-range-${cidr}`);
    if (claim !== undefined) return { cidr, first, release: () => claim.close() };
  }
  throw new Error(`all ${count} ranges of 127.64.0.0/10 are taken by other clusters of this machine`);
}

function rangeOf(number: number): { readonly cidr: string; readonly first: string } {
  const network = `127.${64 + (number >> 4)}.${(number & 15) << 4}`;
  return { cidr: `${network}.0/20`, first: `${network}.1` };
}
