import { didYouMean } from "../similar.ts";
import { names } from "../words.ts";
import type { World } from "./world.ts";

/** Maximum number of names that a missing one is compared with. */
const maxCompared = 1000;

/** Says that an object is missing, and which there are. */
export function missingText(
  world: World,
  kind: "ResourceClaim" | "ResourceClaimTemplate" | "DeviceClass",
  namespace: string | undefined,
  name: string,
): string {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  if (!world.isReadable(kind)) return `${kind} "${name}"${where} may be there: it cannot be read`;
  // Claims that were made for a pod are nobody else's to name.
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
  const given = there.length === 0 ? "none is given" : `given are ${names(there)}`;
  return `there is no ${kind} "${name}"${where}: ${given}${hint}`;
}
