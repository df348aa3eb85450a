import type { Features, KubeObject } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
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

/** A manifest that is checked. */
export interface Subject {
  readonly draft: Draft;
  readonly place: Place;
  /** `Pod default/a` */
  readonly label: string;
  /** Its kind in the version in which it is written; undefined for kinds that are not built in. */
  readonly row: KindRow | undefined;
  readonly namespace: string | undefined;
  /** A server has it stored: it was accepted once. */
  readonly stored: boolean;
  /** As a server would store it; absent where it cannot be read as its kind. */
  readonly decoded?: Decoded;
  /** Problems found by reading it. */
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
  /** The manifests, over what the cluster has. */
  readonly world: World;
  /** Objects of the cluster; empty without one. */
  readonly cluster: World;
  /** There is a cluster, so that what is missing there and in the manifests is missing. */
  readonly hasCluster: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The manifests, and behind them what the cluster has and they do not describe. */
export function worldOf(subjects: readonly Subject[], cluster: World): World {
  // Objects without a name have no references.
  const own = subjects.flatMap(({ decoded, draft }) =>
    decoded?.object.metadata.name && worldKind(draft) !== undefined ? [decoded] : [],
  );
  return cluster.overlaid(own);
}

/** The object of a subject. */
export const objectOf = ({ decoded }: Subject): KubeObject | undefined => decoded?.object;
