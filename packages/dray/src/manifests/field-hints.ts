import { apiVersionOf, kubernetesVersions } from "@dray/api";
import { decodeBody, structType } from "@dray/api/codec";
import { type KindRow, kindRows } from "@dray/api/schema";
import { didYouMean } from "../text/similar.ts";
import { betterPlaces, isNeedlessWrapper, type UnknownField, unknownFieldAt } from "./misplaced.ts";
import { migrateHint } from "./older-dra.ts";

/**
 * Suggestions for an unknown field: a field of another release or version, the place where it belongs, or the
 * correct spelling.
 */
export function fieldHints(
  row: KindRow,
  tree: Readonly<Record<string, unknown>>,
  path: string,
  version: string,
): string[] {
  const unknown = `unknown field ${JSON.stringify(path)}`;
  const isKnown = (other: KindRow, release: string): boolean =>
    !problemsIn(other, tree, release).includes(unknown);
  const known = kubernetesVersions.filter((release) => isKnown(row, release));
  const [first] = known;
  if (first !== undefined) {
    const releases = first > version ? `${first} and newer` : `${known.at(-1)} and older`;
    return [`Kubernetes ${version} does not have this field; ${releases} do`];
  }
  const stable = kindRows.find(
    (other) => other.group === row.group && other.kind === row.kind && other.version === "v1",
  );
  if (stable !== undefined && stable !== row && isKnown(stable, version))
    return [`${apiVersionOf(stable)} has this field, ${apiVersionOf(row)} does not`];
  const field = unknownFieldAt(structType(row.type), tree, path);
  return field === undefined ? [] : placeHints(row, field);
}

function problemsIn(
  row: KindRow,
  tree: Readonly<Record<string, unknown>>,
  release: string,
): readonly string[] {
  const typed = { ...tree, apiVersion: apiVersionOf(row) };
  return decodeBody({ tree: typed, duplicates: [], typed: false }, row, release).problems;
}

/** Distance at which a field of the same name is more likely meant than one with a similar name. */
const near = 2;
/** Maximum number of places in a hint. */
const maxPlaces = 3;

function placeHints(row: KindRow, field: UnknownField): string[] {
  const { name, struct, path } = field;
  if (isNeedlessWrapper(field)) {
    const hint = `the fields in it belong in ${path === "" ? "the object" : path} itself`;
    return name === "source" ? [hint, migrateHint] : [hint];
  }
  const places = betterPlaces(field);
  const [nearest] = places;
  const meant = didYouMean(name, struct.fields.keys());
  if (nearest === undefined || places.length > maxPlaces || (meant !== undefined && nearest.distance > near))
    return meant === undefined ? [] : [meant];
  const hint = `the field belongs at ${places.map((place) => place.path).join(" or ")}`;
  // The form of requests in v1beta1.
  const isOlder = row.group === "resource.k8s.io" && nearest.path === `${path}.exactly.${name}`;
  return isOlder ? [hint, migrateHint] : [hint];
}
