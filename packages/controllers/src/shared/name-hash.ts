import { createHash } from "node:crypto";
import { canonicalJSON, nameAlphabet } from "@dray/api";

/**
 * A short name for a state, the same for equal states whatever the order of their fields; collisions get a
 * count.
 */
export function nameHash(state: unknown, collisions = 0): string {
  const digest = createHash("sha256")
    .update(canonicalJSON(state))
    .update(collisions > 0 ? `#${collisions}` : "")
    .digest();
  return [...digest.subarray(0, 10)].map((byte) => nameAlphabet[byte % nameAlphabet.length]).join("");
}
