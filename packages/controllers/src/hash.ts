import { createHash } from "node:crypto";
import { canonicalJSON } from "@dray/api";

/** The characters of generated names: no vowels and no look-alikes (apimachinery rand). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a state, the same for equal states whatever the order of their fields; collisions get a count. */
export function nameHash(state: unknown, collisions = 0): string {
  const digest = createHash("sha256")
    .update(canonicalJSON(state))
    .update(collisions > 0 ? `#${collisions}` : "")
    .digest();
  return [...digest.subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join("");
}
