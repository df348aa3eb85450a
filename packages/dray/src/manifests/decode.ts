import { createHash } from "node:crypto";
import {
  apiVersionOf,
  assertKubeObject,
  type Features,
  type FieldError,
  fieldErrorText,
  generatedName,
  type KubeObject,
  type Provenance,
  StatusError,
} from "@dray/api";
import type { Job } from "@dray/api/batch/v1";
import { decodeBody, kindOf } from "@dray/api/codec";
import type { Pod, PodSpec } from "@dray/api/core/v1";
import { setDefaults } from "@dray/api/defaults";
import { removeNulls } from "@dray/api/nulls";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { type KindRow, kindRows } from "@dray/api/schema";
import {
  type DropContext,
  disabledFields,
  dropDisabledFields,
  validateCreate,
  validateStatusUpdate,
} from "@dray/api/validation";
import { convert, selectOwnPods } from "@dray/apiserver/objects";
import type { Progress } from "../terminal/progress.ts";
import { type Draft, duplicateProblem } from "./documents.ts";
import { fieldHints } from "./field-hints.ts";
import { olderVersionHints } from "./older-dra.ts";
import { type Located, labelOfObject, type Place, positionOf } from "./place.ts";
import { type Problem, unreadableText } from "./problem.ts";
import type { Selectors } from "./selectors.ts";

export interface DecodeOptions {
  readonly features: Features;
  /** Namespace of objects that do not name one. */
  readonly namespace: string;
  readonly selectors: Selectors;
  /** RFC 3339: the default of time fields. */
  readonly now: string;
  /** Receives the progress. */
  readonly progress?: Progress;
  /** Kinds that scheduling does not depend on and that are read, too. */
  readonly furtherKinds?: ReadonlySet<string>;
}

export interface Decoded extends Located {
  /** Details of the manifest that the object does not show. */
  readonly provenance?: Provenance;
  /** A server has stored it, and so accepted it once. */
  readonly stored: boolean;
  /** Warnings about it. */
  readonly notes: readonly string[];
  /** Fields of a new object that the release drops, because their feature gates are off. */
  readonly dropped: readonly DroppedField[];
}

export interface DroppedField {
  readonly path: string;
  readonly gates: readonly string[];
}

export const groupOf = (apiVersion: string): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";

export const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1);

/** A stored object was accepted once; `kubectl get -o yaml` prints its uid. */
export const isStored = ({ tree }: Draft): boolean =>
  typeof (tree["metadata"] as { uid?: unknown } | null | undefined)?.uid === "string";

/** `Pod default/a`, as far as the draft has the names. */
export function labelOf({ kind, tree }: Draft, namespace: string | undefined): string {
  const metadata = (tree["metadata"] ?? {}) as Readonly<Record<string, unknown>>;
  const text = (field: string): string | undefined =>
    typeof metadata[field] === "string" && metadata[field] !== "" ? metadata[field] : undefined;
  const name = text("name") ?? text("generateName");
  if (name === undefined) return kind;
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${text("namespace") ?? namespace}/${name}`;
}

export interface DecodeResult {
  /** Absent if the draft cannot be decoded; if there are problems, the rest without them. */
  readonly decoded?: Decoded;
  /** Why it would be rejected before its values are validated. */
  readonly problems: readonly Problem[];
}

/**
 * Decodes a draft as the API server would: rejects unknown fields, sets defaults, converts to the version of
 * `target`.
 */
export function decodeObject(draft: Draft, target: KindRow, options: DecodeOptions): DecodeResult {
  const { place, apiVersion, kind } = draft;
  const group = groupOf(apiVersion);
  const row = kindOf(group, versionOf(apiVersion), kind);
  const object = labelOf(draft, target.namespaced ? options.namespace : undefined);
  if (row === undefined) {
    const known = kindRows.filter((other) => other.group === group && other.kind === kind).map(apiVersionOf);
    const message = `no matches for kind "${kind}" in version "${apiVersion}": known are ${known.join(", ")}`;
    const hints = olderVersionHints(draft);
    const problem = {
      rule: "unserved-version",
      ...positionOf(place, "apiVersion"),
      object,
      message,
    } as const;
    return { problems: [{ ...problem, ...(hints.length > 0 && { hints }) }] };
  }
  try {
    return decodeKnown(draft, { row, target, object }, options);
  } catch (error) {
    return {
      problems: [{ rule: "unreadable", ...positionOf(place), object, message: unreadableText(error) }],
    };
  }
}

/** `object`: its label. */
function decodeKnown(
  draft: Draft,
  { row, target, object }: { readonly row: KindRow; readonly target: KindRow; readonly object: string },
  options: DecodeOptions,
): DecodeResult {
  const { place, tree, apiVersion, kind } = draft;
  const typed = { ...tree, apiVersion, kind };
  let decoded: ReturnType<typeof decodeBody>;
  try {
    decoded = decodeBody(
      { tree: typed, duplicates: [], typed: false, notes: draft.notes },
      row,
      options.features.version,
    );
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { problems: [wrongType(error.message, place, object)] };
  }
  const stored = isStored(draft);
  const problems = stored
    ? []
    : fieldProblems(draft, decoded.problems, object, (path) =>
        fieldHints(row, typed, path, options.features.version),
      );
  const draftObject = decoded.object;
  assertKubeObject(draftObject);
  const metadata: Partial<KubeObject["metadata"]> = draftObject.metadata;
  // A server of another release has stored fields that this one does not know.
  const notes = stored
    ? decoded.problems.map((problem) => `${object}: ${problem}, which is not looked at`)
    : [];
  if (target.namespaced) metadata.namespace ??= options.namespace;
  else delete metadata.namespace;
  if (metadata.name === undefined && metadata.generateName !== undefined) {
    const where = `${place.source.file} ${place.document} ${place.root}`;
    const suffix = uidOf(kind, where, metadata.generateName).slice(0, 5);
    metadata.name = generatedName(metadata.generateName, suffix);
  }
  metadata.uid ??= uidOf(target.kind, metadata.namespace, metadata.name);
  if (!/^\d+$/.test(metadata.resourceVersion ?? "")) metadata.resourceVersion = "1";
  const { features, now } = options;
  const { provenance } = decoded;
  // Before the defaults: a default that is dropped again is not in the manifest.
  const dropped = stored ? [] : droppedFields(row, draftObject, { features, provenance });
  setDefaults(row, draftObject, { now, release: features.version, provenance });
  const converted = convert(draftObject, row, target);
  dropDisabledFields(target, converted, stored ? converted : undefined, { features, provenance });
  if (converted.kind === "Job" && !stored) selectOwnPods(converted as Job);
  // Decoding writes null as the API server does; readers of objects have them as the client returns them.
  removeNulls(converted, converted);
  return { decoded: { object: converted, provenance, place, stored, notes, dropped }, problems };
}

/** Returns the fields that strict validation rejects. `problems`: those of decoding. */
function fieldProblems(
  { place, duplicates }: Draft,
  problems: readonly string[],
  object: string,
  hintsOf: (path: string) => readonly string[],
): Problem[] {
  return [
    ...duplicates.map((duplicate) => duplicateProblem(duplicate, place, object)),
    ...problems.map((message) => {
      const path = JSON.parse(/"(?:[^"\\]|\\.)*"$/.exec(message)?.[0] ?? '""') as string;
      const unknown = message.startsWith("unknown field");
      const hints = unknown ? hintsOf(path) : [];
      return fieldProblem(
        place,
        { rule: unknown ? "unknown-field" : "duplicate-key", object, path, message },
        hints,
      );
    }),
  ];
}

function droppedFields(row: KindRow, object: KubeObject, context: DropContext): DroppedField[] {
  const disabled = disabledFields(row, object, context);
  if (disabled.length === 0) return [];
  const paths = new Map<unknown, string>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    paths.set(value, path);
    for (const [key, below] of Object.entries(value))
      walk(below, Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`);
  };
  walk(object, "");
  // Fields below a dropped field are gone with it.
  const all = disabled.map(({ owner, name, gates }) => {
    const path = paths.get(owner) ?? "";
    return { path: path === "" ? name : `${path}.${name}`, gates };
  });
  return all.filter(
    ({ path }) =>
      !all.some((other) => path.startsWith(`${other.path}.`) || path.startsWith(`${other.path}[`)),
  );
}

function fieldProblem(
  place: Place,
  problem: Pick<Problem, "rule" | "message"> & { readonly object: string; readonly path: string },
  hints: readonly string[],
): Problem {
  const { rule, ...rest } = problem;
  const base = { rule, ...positionOf(place, problem.path), ...rest };
  return hints.length > 0 ? { ...base, hints } : base;
}

/** A value that cannot be converted to the type of its field. `message`: the server's. */
function wrongType(message: string, place: Place, object: string): Problem {
  const path = /Go struct field \w+\.([\w.]+) of type/.exec(message)?.[1] ?? "";
  // YAML reads more words as booleans than people expect.
  const boolean = /cannot unmarshal bool into .* of type string/.test(message);
  const hints = boolean ? ["y, n, yes, no, on and off are booleans in YAML: put them in quotes"] : [];
  return fieldProblem(place, { rule: "wrong-type", object, path, message }, hints);
}

/** Returns a uid that is the same in every run, in the form of a UUID. */
export function uidOf(kind: string, namespace: string | undefined, name: string | undefined): string {
  const hex = createHash("sha256").update(`${kind}/${namespace}/${name}`).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");
}

/**
 * Returns the reasons why the API server would reject the object. `row`: the kind, in the version of the
 * object.
 */
export function problemsOf(
  { object, provenance, place, stored }: Decoded,
  row: KindRow,
  namespaceLabels: Readonly<Record<string, string>> | undefined,
  { features, selectors }: DecodeOptions,
): Problem[] {
  const label = labelOfObject(object);
  const compileSelector = selectors.compiler(stored, place);
  const context = { features, provenance, compileSelector, namespaceLabels };
  const errors = [...validateCreate(row, object, context)];
  if (object.kind === "ResourceClaim" && errors.length === 0) {
    const { status: _, ...old } = object as ResourceClaim;
    const { deletionTimestamp: __, ...metadata } = object.metadata;
    for (const each of validateStatusUpdate(row, { ...object, metadata }, { ...old, metadata }, context))
      errors.push(each);
  }
  return errors.map((error) =>
    invalidField(error, place, label, [
      ...selectors.hintsAt(object, error.path),
      ...(object.kind === "Pod" ? claimNameHints(error.path, (object as Pod).spec, "spec") : []),
    ]),
  );
}

/** Converts a field error to a problem. */
export function invalidField(
  error: FieldError,
  place: Place,
  object: string,
  hints: readonly string[],
): Problem {
  const rule = /(?:^|\.)expression$/.test(error.path) ? "invalid-selector" : "invalid";
  return fieldProblem(place, { rule, object, path: error.path, message: fieldErrorText(error) }, hints);
}

/**
 * Hints for a container that uses the name of a claim's object instead of the pod's own name for it. `at`:
 * the path of the spec.
 */
export function claimNameHints(path: string, spec: PodSpec | undefined, at: string): string[] {
  if (spec === undefined || !path.startsWith(`${at}.`)) return [];
  const match = /^\.(initContainers|containers)\[(\d+)\]\.resources\.claims\[(\d+)\]/.exec(
    path.slice(at.length),
  );
  if (match === null) return [];
  const container = spec[match[1] as "containers"]?.[Number(match[2])];
  const name = container?.resources?.claims?.[Number(match[3])]?.name;
  const entries = spec.resourceClaims ?? [];
  if (container === undefined || name === undefined || entries.some((entry) => entry.name === name))
    return [];
  const meant = entries.find(
    (entry) => entry.resourceClaimName === name || entry.resourceClaimTemplateName === name,
  );
  if (meant === undefined) return [];
  const what = meant.resourceClaimName === name ? "ResourceClaim" : "ResourceClaimTemplate";
  return [
    `container ${container.name} names the ${what} "${name}"; the pod's own name for it is "${meant.name}"`,
  ];
}
