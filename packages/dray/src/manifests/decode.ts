import { createHash } from "node:crypto";
import { apiVersionOf, type Features, invalid, type KubeObject, StatusError } from "@dray/api";
import type { Job } from "@dray/api/batch/v1";
import { decodeBody, kindOf } from "@dray/api/codec";
import type { Pod } from "@dray/api/core/v1";
import { setDefaults } from "@dray/api/defaults";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { type KindRow, kindRows } from "@dray/api/schema";
import { dropDisabledFields, validateCreate, validateStatusUpdate } from "@dray/api/validation";
import { convert, selectOwnPods } from "@dray/apiserver/objects";
import type { Draft } from "./documents.ts";
import { InputError, type Located, placeText } from "./place.ts";
import type { Selectors } from "./selectors.ts";

/** The kinds that a plan is made of, all in version v1 of their group. */
const planned: ReadonlyMap<string, KindRow> = new Map(
  [
    ["", "Node"],
    ["", "Pod"],
    ["", "Namespace"],
    ["apps", "DaemonSet"],
    ["apps", "Deployment"],
    ["apps", "ReplicaSet"],
    ["apps", "StatefulSet"],
    ["batch", "Job"],
    ["resource.k8s.io", "DeviceClass"],
    ["resource.k8s.io", "DeviceTaintRule"],
    ["resource.k8s.io", "ResourceClaim"],
    ["resource.k8s.io", "ResourceClaimTemplate"],
    ["resource.k8s.io", "ResourceSlice"],
    ["scheduling.k8s.io", "PriorityClass"],
  ].map(([group = "", kind = ""]) => [`${group}/${kind}`, kindOf(group, "v1", kind)!]),
);

export interface DecodeOptions {
  readonly features: Features;
  /** Where objects live that do not say it. */
  readonly namespace: string;
  readonly selectors: Selectors;
  /** RFC 3339: what fields that default to the time get. */
  readonly now: string;
}

export interface Decoded extends Located {
  /** A server has it stored: it was accepted once, as it is. */
  readonly stored: boolean;
  /** What is odd about it and was let pass. */
  readonly notes: readonly string[];
}

const groupOf = (apiVersion: string): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";

/** Whether a plan looks at objects of that kind. */
export function isPlanned({ apiVersion, kind }: Draft): boolean {
  return planned.has(`${groupOf(apiVersion)}/${kind}`);
}

/**
 * Reads a draft of a planned kind as the API server would: unknown fields are refused, defaults set, the version
 * converted to v1. Throws InputError.
 */
export function decodeObject(draft: Draft, options: DecodeOptions): Decoded {
  const { place, tree, apiVersion, kind } = draft;
  const group = groupOf(apiVersion);
  const row = kindOf(group, apiVersion.slice(apiVersion.indexOf("/") + 1), kind);
  const target = planned.get(`${group}/${kind}`)!;
  const at = placeText(place);
  if (row === undefined) {
    const known = kindRows.filter((other) => other.group === group && other.kind === kind).map(apiVersionOf);
    throw new InputError([
      `${at}: no matches for kind "${kind}" in version "${apiVersion}": known are ${known.join(", ")}`,
    ]);
  }
  let decoded: ReturnType<typeof decodeBody>;
  try {
    const raw = { tree: { ...tree, apiVersion, kind }, duplicates: draft.duplicates, typed: false };
    decoded = decodeBody(raw, row, options.features.version);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw new InputError([`${at}: ${error.message}${booleanHint(error.message)}`]);
  }
  decoded.object["metadata"] ??= {};
  const metadata = decoded.object["metadata"] as Partial<KubeObject["metadata"]>;
  const stored = metadata.uid !== undefined;
  if (!stored && decoded.warnings.length > 0) {
    const label = [kind, metadata.name].filter((part) => part !== undefined).join(" ");
    throw new InputError(decoded.warnings.map((problem) => `${at}: ${label}: ${problem}`));
  }
  // A server of another release has stored fields that this one does not know.
  const notes = decoded.warnings.map((problem) => `${at}: ${problem}, which is not looked at`);
  if (target.namespaced) metadata.namespace ??= options.namespace;
  else delete metadata.namespace;
  if (metadata.name === undefined && metadata.generateName !== undefined)
    metadata.name = `${metadata.generateName}${uidOf(kind, at, metadata.generateName).slice(0, 5)}`;
  metadata.uid ??= uidOf(target.kind, metadata.namespace, metadata.name);
  if (!/^\d+$/.test(metadata.resourceVersion ?? "")) metadata.resourceVersion = "1";
  const draftObject = decoded.object as unknown as KubeObject;
  setDefaults(row.group, row.version, row.kind, draftObject, options.now);
  const object = convert(draftObject, row, target);
  dropDisabledFields(target, object, stored ? object : undefined, options.features);
  if (object.kind === "Job" && !stored) selectOwnPods(object as Job);
  return { object, place, stored, notes };
}

/** YAML takes more words for true and false than people expect. */
const booleanHint = (message: string): string =>
  /cannot unmarshal bool into .* of type string/.test(message)
    ? "\n  hint: y, n, yes, no, on and off are booleans in YAML: put them in quotes"
    : "";

/** A uid that is the same in every run, in the form of a UUID. */
export function uidOf(kind: string, namespace: string | undefined, name: string | undefined): string {
  const hex = createHash("sha256").update(`${kind}/${namespace}/${name}`).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");
}

/** What the API server would refuse about the object, with its place. */
export function problemsOf(
  { object, place, stored }: Decoded,
  namespaceLabels: Readonly<Record<string, string>> | undefined,
  { features, selectors }: DecodeOptions,
): string[] {
  const row = planned.get(`${groupOf(object.apiVersion)}/${object.kind}`)!;
  const compile = selectors.compiler(stored, placeText(place));
  const context = { features, compileSelector: compile.compile, namespaceLabels };
  const errors = validateCreate(row, object, context);
  if (object.kind === "ResourceClaim" && errors.length === 0) {
    const { status: _, ...old } = object as ResourceClaim;
    const { deletionTimestamp: __, ...metadata } = object.metadata;
    errors.push(...validateStatusUpdate(row, { ...object, metadata }, { ...old, metadata }, context));
  }
  if (errors.length === 0) return [];
  const hints = [...compile.hints(), ...(object.kind === "Pod" ? claimNameHints(object as Pod) : [])];
  const { message } = invalid(row, object.metadata.name ?? "", errors);
  return [[`${placeText(place)}: ${message}`, ...hints.map((hint) => `  hint: ${hint}`)].join("\n")];
}

/** A container that names a claim where the pod's own name for it belongs. */
function claimNameHints({ spec }: Pod): string[] {
  const entries = spec?.resourceClaims ?? [];
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap((container) =>
    (container.resources?.claims ?? []).flatMap(({ name }) => {
      if (entries.some((entry) => entry.name === name)) return [];
      const meant = entries.find(
        (entry) => entry.resourceClaimName === name || entry.resourceClaimTemplateName === name,
      );
      if (meant === undefined) return [];
      const what = meant.resourceClaimName === name ? "ResourceClaim" : "ResourceClaimTemplate";
      return [
        `container ${container.name} names the ${what} "${name}"; the pod's own name for it is "${meant.name}"`,
      ];
    }),
  );
}
