import { kindRows } from "@dray/api/schema";
import { didYouMean } from "../text/similar.ts";
import {
  type Decoded,
  type DecodeOptions,
  type DroppedField,
  decodeObject,
  groupOf,
  labelOf,
  problemsOf,
} from "./decode.ts";
import { type Draft, readAllDrafts } from "./documents.ts";
import type { Sources } from "./files.ts";
import { fleetGroup } from "./fleet-group.ts";
import { jsonText } from "./json-text.ts";
import { olderVersionHints } from "./older-dra.ts";
import { type Located, labelOfObject, type Place, type Position, placeText, positionOf } from "./place.ts";
import { InputError, type Problem, unreadableText } from "./problem.ts";
import { changeProblems, isComparable, merged, replacesWhole } from "./update.ts";
import { World, worldKind, worldRow } from "./world.ts";

/** An object with problems, which the world lacks. */
export interface LeftOut {
  readonly kind: string;
  /** `Pod default/a` */
  readonly label: string;
  readonly place: Place;
  readonly problems: readonly Problem[];
}

export interface Reading {
  readonly world: World;
  /** All problems of the input. */
  readonly problems: readonly Problem[];
  /** The objects with problems: they are not in the world. */
  readonly leftOut: readonly LeftOut[];
  /** Notes about skipped or tolerated parts. */
  readonly notes: readonly string[];
  /** Fields of new objects that the release drops. */
  readonly warnings: readonly string[];
}

/** The label of a namespace in which admin access is allowed (KEP-5018). */
const adminLabel = { "resource.kubernetes.io/admin-access": "true" };

/** Objects of a cluster that the manifests would change. */
export interface Existing {
  readonly objects: readonly Located[];
  /** Kinds of which the cluster may have more objects. */
  readonly unreadable: ReadonlySet<string>;
}

const nothing: Existing = { objects: [], unreadable: new Set() };

/**
 * Reads the objects that scheduling depends on. Leaves out invalid objects and reports all problems. Throws
 * InputError with all problems if a text cannot be parsed, since its objects are unknown.
 */
export function readObjects(
  { sources, problems: unreadable }: Sources,
  options: DecodeOptions,
  { objects: existing, unreadable: kinds }: Existing = nothing,
): Reading {
  const read = readAllDrafts(sources, options.progress);
  const drafts = read.flatMap(({ drafts }) => drafts);
  const fatal = [...unreadable, ...read.flatMap(({ problems }) => problems)];
  if (drafts.length === 0 && fatal.length === 0 && sources.length > 0) {
    const file = sources.map(({ file }) => file).join(", ");
    throw new InputError([{ rule: "syntax", file, message: "there are no objects in it" }]);
  }
  const notes = leftAside(drafts, options.furtherKinds);
  const leftOut: LeftOut[] = [];
  const leave = (place: Place, kind: string, label: string, problems: readonly Problem[]): void => {
    leftOut.push({ place, kind, label, problems });
  };
  const decoded = drafts.flatMap((draft, i) => {
    options.progress?.update(`Reading the objects: ${i} of ${drafts.length}`);
    const target = worldKind(draft, options.furtherKinds);
    if (target === undefined) {
      const unknown = unknownKind(draft);
      if (unknown !== undefined) leave(draft.place, draft.kind, labelOf(draft, undefined), [unknown]);
      return [];
    }
    const { decoded, problems } = decodeObject(draft, target, options);
    if (problems.length === 0) return decoded ?? [];
    const namespace = target.namespaced ? options.namespace : undefined;
    leave(draft.place, draft.kind, labelOf(draft, namespace), problems);
    return [];
  });
  const { kept, repeated } = withoutRepetitions(decoded);
  const named = new World([...existing, ...kept]);
  const valid = kept.filter((each, i) => {
    options.progress?.update(`Checking the objects: ${i} of ${kept.length}`);
    const { object, place, stored } = each;
    const namespace = object.metadata.namespace;
    const found = namespace === undefined ? undefined : named.find("Namespace", namespace);
    // A server has accepted its stored objects: their namespace exists.
    const labels = found?.metadata.labels ?? (found === undefined && stored ? adminLabel : undefined);
    const problems = checked(each, labels, options);
    if (problems.length > 0) leave(place, object.kind, labelOfObject(object), problems);
    return problems.length === 0;
  });
  const all = overlay(existing, valid, options, { leave, notes });
  const problems = inOrder(
    [...fatal, ...leftOut.flatMap(({ problems }) => problems), ...repeated],
    sources.map(({ file }) => file),
  );
  if (fatal.length > 0) throw new InputError(problems);
  for (const each of valid.flatMap(({ notes, place }) => notes.map((note) => `${placeText(place)}: ${note}`)))
    notes.push(each);
  const warnings = valid.flatMap(({ object, place, dropped }) =>
    dropped.map(
      (field) =>
        `${placeText(place, field.path)}: ${labelOfObject(object)}: ${droppedText(field, options.features.version)}`,
    ),
  );
  const labels = new Set(leftOut.map(({ label }) => label));
  return { world: new World(all, kinds, labels), problems, leftOut, notes, warnings };
}

/** As `problemsOf`. An exception is a problem of the object, and does not end the reading of the others. */
function checked(
  each: Decoded,
  labels: Readonly<Record<string, string>> | undefined,
  options: DecodeOptions,
): Problem[] {
  const { object, place } = each;
  try {
    return problemsOf(each, worldRow(object), labels, options);
  } catch (error) {
    const at = { ...positionOf(place), object: labelOfObject(object) };
    return [{ rule: "unreadable", ...at, message: unreadableText(error) }];
  }
}

/** Sorts problems in the order of the files, and from top to bottom. */
export function inOrder<T extends Position>(found: readonly T[], files: readonly string[]): T[] {
  const ranks = new Map(files.map((file, rank) => [file, rank]));
  const rank = ({ file }: T): number => ranks.get(file) ?? files.length;
  return found.toSorted(
    (a, b) =>
      rank(a) - rank(b) ||
      (a.document ?? 0) - (b.document ?? 0) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.item ?? 0) - (b.item ?? 0),
  );
}

/** Returns the text for a field that a release drops. */
function droppedText({ path, gates }: DroppedField, version: string): string {
  const what = gates.length === 1 ? `feature gate ${gates[0]} is` : `feature gates ${gates.join(", ")} are`;
  return `${path}: Kubernetes ${version} drops this field: its ${what} off`;
}

/** Removes repeated objects; different versions of an object are a problem. */
function withoutRepetitions(objects: readonly Decoded[]): {
  readonly kept: readonly Decoded[];
  readonly repeated: readonly Problem[];
} {
  const seen = new Map<string, Decoded>();
  const repeated: Problem[] = [];
  for (const decoded of objects) {
    const { object, place } = decoded;
    const label = labelOfObject(object);
    // Objects without a name are different.
    const key = object.metadata.name ? label : `${place.source.file} ${place.document} ${place.root}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, decoded);
    else if (jsonText(first.object) !== jsonText(object)) {
      const message = `was given before, and differs: ${placeText(first.place)}`;
      repeated.push({ rule: "duplicate-object", ...positionOf(place), object: label, message });
    }
  }
  return { kept: [...seen.values()], repeated };
}

/** Returns the objects of the cluster after the manifests are applied. */
function overlay(
  existing: readonly Located[],
  manifests: readonly Decoded[],
  options: DecodeOptions,
  {
    leave,
    notes,
  }: {
    readonly leave: (place: Place, kind: string, label: string, problems: readonly Problem[]) => void;
    readonly notes: string[];
  },
): Located[] {
  const keyOf = ({ object }: Located): string => labelOfObject(object);
  const result = new Map(existing.map((each) => [keyOf(each), each]));
  for (const each of manifests) {
    const key = keyOf(each);
    const { object, place, stored } = each;
    const live = result.get(key)?.object;
    if (live === undefined || stored || replacesWhole(object)) result.set(key, each);
    else if (!isComparable(object))
      notes.push(`${placeText(place)}: ${key} is in the cluster already: what it is there counts`);
    else {
      const problems = changeProblems(each, live, options);
      if (problems.length === 0) result.set(key, { object: merged(object, live), place });
      else leave(place, object.kind, key, problems);
    }
  }
  return [...result.values()];
}

/** An unknown kind of a built-in group is a mistake, of another group a custom resource. */
function unknownKind(draft: Draft): Problem | undefined {
  const { apiVersion, kind, place } = draft;
  const group = groupOf(apiVersion);
  const ofGroup = kindRows.filter((row) => row.group === group);
  if (ofGroup.length === 0 || ofGroup.some((row) => row.kind === kind)) return undefined;
  const older = olderVersionHints(draft);
  const meant = didYouMean(
    kind,
    ofGroup.map((row) => row.kind),
  );
  const hints = older.length > 0 || meant === undefined ? older : [meant];
  return {
    rule: "unserved-version",
    ...positionOf(place, "kind"),
    object: labelOf(draft, undefined),
    message: `no matches for kind "${kind}" in version "${apiVersion}"`,
    ...(hints.length > 0 && { hints }),
  };
}

function leftAside(drafts: readonly Draft[], further: ReadonlySet<string> | undefined): string[] {
  const counts = new Map<string, { count: number; place: Place }>();
  const others = drafts.filter(
    (each) =>
      worldKind(each, further) === undefined &&
      unknownKind(each) === undefined &&
      groupOf(each.apiVersion) !== fleetGroup,
  );
  for (const draft of others) {
    const key = `${draft.kind} (${draft.apiVersion})`;
    const known = counts.get(key);
    counts.set(key, { count: (known?.count ?? 0) + 1, place: known?.place ?? draft.place });
  }
  return [...counts].map(([kind, { count, place }]) => {
    const where = count === 1 ? placeText(place) : `${count} objects, the first in ${placeText(place)}`;
    return `${kind} is left aside: ${where}`;
  });
}
