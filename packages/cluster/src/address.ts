import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** Where others reach a server that is bound to this address; undefined if this machine has no address for others. */
export function reachableAddress(bound: string): string | undefined {
  const everywhere = ["0.0.0.0", "::", "::1", "localhost"].includes(bound) || bound.startsWith("127.");
  if (!everywhere && isIP(bound) !== 0) return bound;
  const outside = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return (outside.find(({ family }) => family === "IPv4") ?? outside[0])?.address;
}
