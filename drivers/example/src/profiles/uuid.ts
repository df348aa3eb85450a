import { createHash } from "node:crypto";

/** Derives a UUID from a seed: a device keeps its identity when its driver restarts. */
export function uuid(seed: string): string {
  const hex = createHash("sha256").update(seed).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    "-",
  );
}
