import { apiVersionOf, type Features, isInRelease } from "@dray/api";
import { kindRows } from "@dray/api/schema";
import { servedResources } from "@dray/apiserver/objects";
import { groupOf, versionOf } from "../manifests/decode.ts";
import { isClassicVersion, olderVersionHints } from "../manifests/older-dra.ts";
import { didYouMean } from "../text/similar.ts";
import { type Finding, finding } from "./finding.ts";
import type { Subject } from "./subjects.ts";

/** A kind in one version. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The kinds of a server. */
export interface Served {
  readonly kinds: readonly ServedKind[];
  /** A cluster has reported them: all other kinds are missing. */
  readonly complete: boolean;
  /** Resources that the release can serve if they are enabled. */
  readonly possible: readonly ServedKind[];
  readonly features: Features;
}

/** Returns the kinds of a release; `found`: the kinds that a cluster has reported. */
export function servedBy(
  features: Features,
  runtimeConfig: Readonly<Record<string, boolean>>,
  found?: readonly ServedKind[],
): Served {
  return {
    kinds: found ?? servedResources(features, runtimeConfig),
    complete: found !== undefined,
    possible: servedResources(features, { "api/all": true }),
    features,
  };
}

/** Returns the kinds of the CustomResourceDefinitions among the manifests. */
export function definedKinds(subjects: readonly Subject[]): ServedKind[] {
  return subjects.flatMap(({ draft }) => {
    if (draft.kind !== "CustomResourceDefinition") return [];
    const spec = draft.tree["spec"] as
      | {
          group?: string;
          names?: { kind?: string };
          versions?: readonly { name?: string; served?: boolean }[];
        }
      | undefined;
    const { group, names, versions } = spec ?? {};
    const kind = names?.kind;
    if (group === undefined || kind === undefined || !Array.isArray(versions)) return [];
    return versions.flatMap(({ name, served }) =>
      served === true && name !== undefined ? [{ group, version: name, kind }] : [],
    );
  });
}

/** Groups of earlier releases, whose kinds have moved. */
const goneGroups: ReadonlySet<string> = new Set(["extensions"]);

const builtInGroups: ReadonlySet<string> = new Set(kindRows.map(({ group }) => group));

/**
 * Reports whether the server has the kind of a manifest: `yes`, `unknown` for custom kinds, or the reason.
 */
export function checkServed(
  subject: Subject,
  served: Served,
  defined: readonly ServedKind[],
): "yes" | "unknown" | Finding {
  const { apiVersion, kind } = subject.draft;
  const [group, version] = [groupOf(apiVersion), versionOf(apiVersion)];
  const is = (other: ServedKind): boolean =>
    other.group === group && other.version === version && other.kind === kind;
  if (served.kinds.some(is) || defined.some(is)) return "yes";
  const definedHere = defined.some((other) => other.group === group);
  const isBuiltIn = builtInGroups.has(group) || goneGroups.has(group);
  if (!isBuiltIn && !served.complete && !definedHere) return "unknown";
  const message = `no matches for kind "${kind}" in version "${apiVersion}"`;
  const path = builtInGroups.has(group) && !knows(group, kind) ? "kind" : "apiVersion";
  return finding("unserved-version", subject, path, { message, hints: hintsFor(subject, served, defined) });
}

const knows = (group: string, kind: string): boolean =>
  kindRows.some((row) => row.group === group && row.kind === kind);

function hintsFor({ draft }: Subject, served: Served, defined: readonly ServedKind[]): string[] {
  const { apiVersion, kind } = draft;
  const group = groupOf(apiVersion);
  const { version: release } = served.features;
  const has = [...served.kinds, ...defined];
  const older = olderVersionHints(draft);
  // Only the command makes one of the other.
  if (isClassicVersion(apiVersion) && older.length > 0) return older;
  const hints: string[] = [];
  const same = has.filter((other) => other.group === group && other.kind === kind);
  const moved = goneGroups.has(group) ? has.filter((other) => other.kind === kind) : [];
  const instead = [...same, ...moved].map(apiVersionOf);
  if (instead.length > 0) hints.push(`write ${[...new Set(instead)].join(" or ")}`);
  const possible = served.possible.find((other) => apiVersionOf(other) === apiVersion && other.kind === kind);
  if (possible !== undefined)
    hints.push(`Kubernetes ${release} serves it only with --runtime-config=${apiVersion}=true`);
  const row = kindRows.find((other) => apiVersionOf(other) === apiVersion && other.kind === kind);
  if (row?.since !== undefined && !isInRelease(release, { since: row.since }))
    hints.push(`Kubernetes ${row.since} and newer have it`);
  if (row?.until !== undefined && !isInRelease(release, { until: row.until }))
    hints.push(`Kubernetes ${row.until} is the last release that has it`);
  for (const hint of older) hints.push(hint);
  if (hints.length === 0) {
    const kinds = has.flatMap((other) => (apiVersionOf(other) === apiVersion ? [other.kind] : []));
    const meant = didYouMean(kind, kinds);
    if (meant !== undefined) hints.push(meant);
    else if (served.complete)
      hints.push("the cluster has no such kind: is its CustomResourceDefinition there?");
  }
  return hints;
}
