import type { Features, KubeObject } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import type { SchedulerConfiguration } from "@dray/scheduler";
import {
  type Decoded,
  type DecodeOptions,
  decodeObject,
  groupOf,
  isStored,
  labelOf,
  versionOf,
} from "../manifests/decode.ts";
import type { Draft } from "../manifests/documents.ts";
import type { Place } from "../manifests/place.ts";
import type { Problem } from "../manifests/problem.ts";
import { type World, worldKind } from "../manifests/world.ts";

/** A manifest to check. */
export interface Subject {
  readonly draft: Draft;
  readonly place: Place;
  /** `Pod default/a` */
  readonly label: string;
  /** Its kind in the version of the manifest; undefined for custom kinds. */
  readonly row: KindRow | undefined;
  readonly namespace: string | undefined;
  /** A server has stored it, and so accepted it once. */
  readonly stored: boolean;
  /** As a server would store it; absent if it cannot be decoded. */
  readonly decoded?: Decoded;
  /** Problems of reading it. */
  readonly problems: readonly Problem[];
}

export function subjectOf(draft: Draft, options: DecodeOptions): Subject {
  const { place, apiVersion, kind, tree } = draft;
  const row = kindOf(groupOf(apiVersion), versionOf(apiVersion), kind);
  const target = worldKind(draft) ?? row;
  const own = (tree["metadata"] as { namespace?: unknown } | null | undefined)?.namespace;
  const written = typeof own === "string" && own !== "" ? own : undefined;
  const namespaced = target?.namespaced ?? written !== undefined;
  const namespace = namespaced ? (written ?? options.namespace) : undefined;
  const label = labelOf(draft, namespaced ? options.namespace : undefined);
  const base = { draft, place, label, row, namespace, stored: isStored(draft) };
  if (target === undefined || row === undefined) return { ...base, problems: [] };
  const { decoded, problems } = decodeObject(draft, target, options);
  return { ...base, problems, ...(decoded && { decoded }) };
}

/** Input of the checks. */
export interface LintContext {
  readonly features: Features;
  readonly subjects: readonly Subject[];
  /** The manifests, over the objects of the cluster. */
  readonly world: World;
  /** Objects of the cluster; empty without one. */
  readonly cluster: World;
  /** The cluster runs: what its lists do not have does not exist. */
  readonly isLive: boolean;
  /** The profiles of the scheduler; undefined: the default one. */
  readonly configuration: SchedulerConfiguration | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Joins the manifests with the other objects of the cluster. */
export function worldOf(subjects: readonly Subject[], cluster: World): World {
  // Objects without a name have no references.
  const own = subjects.flatMap(({ decoded, draft }) =>
    decoded?.object.metadata.name && worldKind(draft) !== undefined ? [decoded] : [],
  );
  return cluster.overlaid(own);
}

/** Returns the object of a subject. */
export const objectOf = ({ decoded }: Subject): KubeObject | undefined => decoded?.object;

/**
 * Reports whether all objects of a kind are known: of a cluster that runs, or of files with a whole cluster,
 * which have its nodes and objects of the kind. Otherwise a cluster may have others.
 */
export function isComplete(
  { world, isLive }: LintContext,
  kind: "DeviceClass" | "ResourceClaim" | "ResourceClaimTemplate",
): boolean {
  return isLive || (world.all("Node").length > 0 && world.all(kind).length > 0);
}

/**
 * Reports whether the manifests have an object of one of these kinds, in any version and whatever its
 * mistakes, which are other findings.
 */
export function isGiven(
  { subjects }: LintContext,
  kinds: readonly string[],
  namespace: string | undefined,
  name: string,
): boolean {
  return subjects.some(
    (subject) =>
      kinds.includes(subject.draft.kind) &&
      (namespace === undefined || (subject.namespace ?? writtenNamespace(subject)) === namespace) &&
      (subject.draft.tree["metadata"] as { name?: unknown } | null | undefined)?.name === name,
  );
}

const writtenNamespace = ({ draft }: Subject): string => {
  const { namespace } = (draft.tree["metadata"] ?? {}) as { readonly namespace?: unknown };
  return typeof namespace === "string" && namespace !== "" ? namespace : "default";
};
