import type { ObjectMeta } from "@dray/api/meta/v1";
import { didYouMean } from "../text/similar.ts";
import { names } from "../text/words.ts";
import type { World } from "./world.ts";

/** Maximum number of names to compare with a missing one. */
const maxCompared = 1000;

type MissingKind = "ResourceClaim" | "ResourceClaimTemplate" | "DeviceClass" | "PodGroup";

/** Generated claims belong to their pod: other objects cannot use them. */
const usable = (world: World, kind: MissingKind): readonly ObjectMeta[] =>
  world
    .all(kind)
    .map(({ object }): ObjectMeta => object.metadata)
    .filter(({ ownerReferences }) => !ownerReferences?.some(({ controller }) => controller === true));

/**
 * Returns which object was probably meant by the name of a missing one: in another namespace, or a similar
 * one.
 */
export function similarText(
  world: World,
  kind: MissingKind,
  namespace: string | undefined,
  name: string,
): string | undefined {
  const all = usable(world, kind);
  const elsewhere = all.flatMap((other) => (other.name === name ? [other.namespace] : []));
  if (elsewhere.length > 0) return `there is one in namespace ${names(elsewhere.map(String))}`;
  const there = all.flatMap((other) => (other.namespace === namespace ? (other.name ?? []) : []));
  return didYouMean(name, there.slice(0, maxCompared));
}

/** Returns a text about a missing object, with similar names. */
export function missingText(
  world: World,
  kind: MissingKind,
  namespace: string | undefined,
  name: string,
): string {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  if (!world.isReadable(kind)) return `${kind} "${name}"${where} may be there: it cannot be read`;
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  if (world.isLeftOut(kind, full))
    return `${kind} "${name}"${where} is not valid, and is left out: see what is said about it`;
  const there = usable(world, kind).flatMap((other) =>
    other.namespace === namespace ? (other.name ?? []) : [],
  );
  const meant = similarText(world, kind, namespace, name);
  const hint = meant === undefined ? "" : `; ${meant}`;
  const known = there.length === 0 ? "" : ` (known: ${names(there)})`;
  return `there is no ${kind} "${name}"${where}${known}${hint}`;
}
