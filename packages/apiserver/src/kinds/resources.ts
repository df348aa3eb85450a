import { apiVersionOf, type FeatureGate, type Features, isInRelease, quoted } from "@dray/api";
import { type KindRow, kindRows } from "@dray/api/schema";
import type { ResourceFacts, SubresourceFacts } from "./facts.ts";
import type { ResourceModel } from "./model.ts";
import { servedKind } from "./registry.ts";

/** A row of the schema table, or an equivalent for a kind with a model of its own. */
export interface StoredRow extends KindRow {
  readonly model?: ResourceModel;
}

/**
 * Paths of the scale fields of a custom resource (apiextensions.k8s.io/v1 CustomResourceSubresourceScale).
 */
export interface ScalePaths {
  readonly spec: string;
  readonly status: string;
  readonly selector?: string;
}

/** One resource in one served version. */
export interface ServedResource extends StoredRow {
  readonly singular: string;
  readonly listKind: string;
  readonly verbs: readonly string[];
  readonly subresources: ReadonlyMap<string, SubresourceFacts>;
  readonly facts: ResourceFacts;
  /** Warning in all responses of this version. */
  readonly deprecation?: string;
  /** Row of the version in which the objects are stored; its resource is the name of the storage prefix. */
  readonly stored: StoredRow;
  /** Version in which upstream stores the objects, which discovery shows by its hash. */
  readonly storageVersion: string;
  /** Paths of the scale fields, if not `.spec.replicas` and `.status.replicas`. */
  readonly scalePaths?: ScalePaths;
  /** Aborts when the resource is no longer served, which ends watches and other long requests. */
  readonly ended?: AbortSignal;
}

const standardVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/**
 * Returns the resources that a server of this release serves. As upstream, beta and alpha versions are off
 * unless `runtimeConfig` names them: `group/version`, `group/version/resource`, `api/beta`, `api/alpha`,
 * `api/all`.
 */
export function servedResources(
  features: Features,
  runtimeConfig: Readonly<Record<string, boolean>> = {},
): ServedResource[] {
  const { version } = features;
  const rows = kindRows.filter((row) => {
    const facts = servedKind(row)?.facts;
    return facts !== undefined && isInRelease(version, row) && !facts.unserved?.includes(row.version);
  });
  return rows
    .filter((row) => enabled(row, runtimeConfig))
    .filter((row) => {
      const gate = factsOfRow(row).gate;
      return gate === undefined || features.enabled(gate);
    })
    .map((row) => servedResource(row, storedRow(row, rows), version));
}

/** Returns the feature gate without which no server serves the kind. */
export const gateOfKind = (row: KindRow): FeatureGate | undefined => servedKind(row)?.facts?.gate;

/** Returns a resource that every server serves, in the version v1. */
export function requiredResource(
  resources: readonly ServedResource[],
  { group, resource }: Pick<ServedResource, "group" | "resource">,
): ServedResource {
  const found = resources.find(
    (row) => row.group === group && row.resource === resource && row.version === "v1",
  );
  if (found === undefined) throw new TypeError(`the server has no ${resource} of ${quoted(group)} in v1`);
  return found;
}

function enabled(row: KindRow, config: Readonly<Record<string, boolean>>): boolean {
  const groupVersion = row.group === "" ? row.version : `${row.group}/${row.version}`;
  const named = config[`${groupVersion}/${row.resource}`] ?? config[groupVersion];
  if (factsOfRow(row).extension) return named ?? false;
  const stage = row.version.includes("alpha") ? "alpha" : row.version.includes("beta") ? "beta" : "ga";
  return named ?? config[`api/${stage}`] ?? config["api/all"] ?? stage === "ga";
}

/** Objects are stored in the most stable version that the release has; events in that of the core group. */
function storedRow(row: KindRow, rows: readonly KindRow[]): KindRow {
  if (row.resource === "events")
    return rows.find((other) => other.resource === "events" && other.group === "") ?? row;
  const versions = rows.filter((other) => other.group === row.group && other.resource === row.resource);
  return versions.reduce((best, other) => (compareVersions(other.version, best.version) > 0 ? other : best));
}

/** Orders versions as Kubernetes prefers them: v2 > v1 > v1beta2 > v1beta1 > v1alpha3. */
export function compareVersions(left: string, right: string): number {
  const parse = (text: string): [number, number, number] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(text);
    if (!match) return [-1, 0, 0];
    const stage = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [a, b] = [parse(left), parse(right)];
  if (a[0] < 0 && b[0] < 0) return left < right ? 1 : left > right ? -1 : 0;
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function servedResource(row: KindRow, stored: KindRow, version: string): ServedResource {
  const own = factsOf(row, version);
  const fields = [...(own.fields ?? [])];
  for (const [since, more] of Object.entries(own.fieldsSince ?? {})) {
    if (isInRelease(version, { since })) for (const each of more) fields.push(each);
  }
  const counted = own.generationSince !== undefined && isInRelease(version, { since: own.generationSince });
  const subresources = new Map<string, SubresourceFacts>(Object.entries(own.subresources ?? {}));
  const verbs = ["get", "patch", "update"];
  if (own.status) subresources.set("status", { kind: row.kind, verbs });
  if (own.scale) subresources.set("scale", { group: "autoscaling", version: "v1", kind: "Scale", verbs });
  return {
    ...row,
    singular: row.kind.toLowerCase(),
    listKind: `${row.kind}List`,
    verbs: verbsOf(own),
    subresources: new Map([...subresources].sort(([a], [b]) => (a < b ? -1 : 1))),
    facts: { ...own, fields, ...(counted ? { generation: true as const } : {}) },
    ...deprecation(row, version),
    stored,
    storageVersion: own.storageVersion?.[version] ?? stored.version,
  };
}

function factsOfRow(row: KindRow): ResourceFacts {
  return servedKind(row)?.facts ?? {};
}

function factsOf(row: KindRow, version: string): ResourceFacts {
  const { statusSince, status, needsVersion, ...rest } = factsOfRow(row);
  const hasStatus = status !== undefined && (statusSince === undefined || version >= statusSince);
  const hasPrecondition = needsVersion === true || needsVersion?.includes(row.version) === true;
  return { ...rest, ...(hasStatus ? { status } : {}), ...(hasPrecondition ? { needsVersion: true } : {}) };
}

function verbsOf({ createOnly, readOnly, noDeleteCollection }: ResourceFacts): readonly string[] {
  if (createOnly) return ["create"];
  if (readOnly) return ["get", "list"];
  return noDeleteCollection ? standardVerbs.filter((verb) => verb !== "deletecollection") : standardVerbs;
}

/** Returns the warning in the words of k8s.io/apiserver/pkg/endpoints/deprecation. */
function deprecation(row: KindRow, version: string): { deprecation?: string } {
  const found = factsOfRow(row).deprecated?.[row.version];
  if (found === undefined || !isInRelease(version, { since: found.since })) return {};
  const gone = found.gone === undefined ? "" : `, unavailable in v${found.gone}+`;
  const instead = found.instead === undefined ? "" : `; use ${found.instead}`;
  return {
    deprecation: `${apiVersionOf(row)} ${row.kind} is deprecated in v${found.since}+${gone}${instead}`,
  };
}
