import { didYouMean } from "../text/similar.ts";
import { names } from "../text/words.ts";
import type { World } from "./world.ts";

/** Maximum number of names to compare with a missing one. */
const maxCompared = 1000;

/** Returns a text about a missing object, with similar names. */
export function missingText(
  world: World,
  kind: "ResourceClaim" | "ResourceClaimTemplate" | "DeviceClass" | "PodGroup",
  namespace: string | undefined,
  name: string,
): string {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  if (!world.isReadable(kind)) return `${kind} "${name}"${where} may be there: it cannot be read`;
  // Generated claims belong to their pod: other objects cannot use them.
  const all = world
    .all(kind)
    .map(({ object }) => object.metadata)
    .filter(({ ownerReferences }) => !ownerReferences?.some(({ controller }) => controller === true));
  const there = all.flatMap((other) => (other.namespace === namespace ? [other.name] : []));
  const elsewhere = all.flatMap((other) => (other.name === name ? [other.namespace] : []));
  const hint =
    elsewhere.length > 0
      ? `; there is one in namespace ${names(elsewhere.map(String))}`
      : (didYouMean(name, there.slice(0, maxCompared))?.replace(/^/, "; ") ?? "");
  const known = there.length === 0 ? "" : ` (known: ${names(there)})`;
  return `there is no ${kind} "${name}"${where}${known}${hint}`;
}
