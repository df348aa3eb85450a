import { createHash } from "node:crypto";

/** The characters of generated names: no vowels and no look-alikes (apimachinery rand). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a state, the same for equal states whatever the order of their fields; collisions get a count. */
export function nameHash(state: unknown, collisions = 0): string {
  const digest = createHash("sha256")
    .update(canonical(state))
    .update(collisions > 0 ? `#${collisions}` : "")
    .digest();
  return [...digest.subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(",")}}`;
  }
  return typeof value === "bigint" ? value.toString() : JSON.stringify(value ?? null);
}
