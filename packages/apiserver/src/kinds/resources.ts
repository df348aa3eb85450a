import { apiVersionOf, type FeatureGate, type Features, isInRelease } from "@dray/api";
import { type KindRow, kindRows } from "@dray/api/schema";
import deprecations from "./deprecations.json" with { type: "json" };
import facts from "./facts.json" with { type: "json" };
import type { ResourceModel } from "./model.ts";

/** What differs between resources as data; the rest is in the strategy file that bears the resource's name. */
export interface ResourceFacts {
  /**
   * Has a `status` subresource. Which metadata a write of it changes: `keep` what comes, all but `labels`, or none
   * but managedFields (`reset`).
   */
  readonly status?: "keep" | "labels" | "reset";
  /** The first release that has the `status` subresource. */
  readonly statusSince?: string;
  /** Has a `scale` subresource. */
  readonly scale?: true;
  /**
   * metadata.generation counts changes of what is not metadata or status; `sent`: also those of fields that a feature
   * gate then drops; `changed`: new objects have none yet; `annotated`: also those of annotations, which the
   * revisions of a deployment are told by; `labelled`: also those of labels.
   */
  readonly generation?: true | "sent" | "changed" | "annotated" | "labelled";
  /** The first release that counts it. */
  readonly generationSince?: string;
  /** A new object keeps the status that it is sent with: a kubelet registers its node so. */
  readonly bringsStatus?: true;
  /** DELETE of something that is gone at once answers with the object, else with a Status. */
  readonly answersDeleted?: true;
  /** PUT creates what is not there. */
  readonly createOnUpdate?: true;
  /** PUT must say which resourceVersion it replaces. */
  readonly needsVersion?: true;
  /** Nothing is stored: POST answers a question. */
  readonly createOnly?: true;
  readonly noDeleteCollection?: true;
  /** Nothing is stored: GET shows how things are. */
  readonly readOnly?: true;
  /** Discovery does not show the version in which it is stored, since that is not served. */
  readonly noStorageHash?: true;
  /** By release, the version of which discovery shows the hash; else that in which the objects are stored. */
  readonly storageVersion?: Readonly<Record<string, string>>;
  /** There are no protobuf bodies of it and no strategic merge patches. */
  readonly schemaless?: true;
  /** What messages call the Go type of what is answered, where it is not that of the kind. */
  readonly goType?: string;
  /** Field selectors besides metadata.name and metadata.namespace. */
  readonly fields?: readonly string[];
  readonly fieldsSince?: Readonly<Record<string, readonly string[]>>;
  /** In which words an unknown field selector is refused. */
  readonly fieldError?: "core" | "kind" | "job";
  readonly noNamespaceField?: true;
  /** In Kubernetes an extension API server has it (metrics-server): served only where runtimeConfig names it. */
  readonly extension?: true;
  /** Served only where this gate is on. */
  readonly gate?: FeatureGate;
  readonly subresources?: Readonly<Record<string, SubresourceFacts>>;
}

/** A subresource: whose kind it speaks (of the parent's version if no group is given), and its verbs. */
export interface SubresourceFacts {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** A row of the schema table, or one like it for a kind that brings its model along. */
export interface StoredRow extends KindRow {
  readonly model?: ResourceModel;
}

/** Where a custom resource has what its scale shows (apiextensions.k8s.io/v1 CustomResourceSubresourceScale). */
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
  /** What every answer of this version warns of. */
  readonly deprecation?: string;
  /** The row of the version in which the objects are stored; its resource is the name of their place there. */
  readonly stored: StoredRow;
  /** The version that upstream stores the objects in, as discovery shows by its hash. */
  readonly storageVersion: string;
  /** Where scale finds its numbers, if not at `.spec.replicas` and `.status.replicas`. */
  readonly scalePaths?: ScalePaths;
  /** When this is served no longer all that lasts ends. */
  readonly ended?: AbortSignal;
}

const allFacts = facts as unknown as Readonly<Record<string, ResourceFacts>>;

const standardVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** Kinds that are spoken only by subresources, or not by an API server at all. */
const notResources = new Set([
  "Scale",
  "TokenRequest",
  "Eviction",
  "PartialObjectMetadata",
  "RangeAllocation",
]);
/** Versions that upstream no longer serves. */
const notServed = new Set(["scheduling.k8s.io/v1beta1/priorityclasses"]);

/**
 * The resources that a server of this release serves. As upstream, beta and alpha versions are off unless
 * `runtimeConfig` names them: `group/version`, `group/version/resource`, `api/beta`, `api/alpha`, `api/all`.
 */
export function servedResources(
  features: Features,
  runtimeConfig: Readonly<Record<string, boolean>> = {},
): ServedResource[] {
  const { version } = features;
  const rows = kindRows.filter(
    (row) =>
      isInRelease(version, row) &&
      row.group !== "meta" &&
      !notResources.has(row.kind) &&
      !notServed.has(`${row.group}/${row.version}/${row.resource}`),
  );
  return rows
    .filter((row) => enabled(row, runtimeConfig))
    .filter((row) => {
      const gate = factsOfRow(row).gate;
      return gate === undefined || features.enabled(gate);
    })
    .map((row) => servedResource(row, storedRow(row, rows), version));
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
    return rows.find((other) => other.resource === "events" && other.group === "")!;
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
  const fields = row.group === "events.k8s.io" ? eventsFields(own.fields!) : [...(own.fields ?? [])];
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

/** Groups share facts of a resource, unless those of one group stand under its own name. */
function factsOfRow({ group, resource }: KindRow): ResourceFacts {
  return allFacts[`${resource}.${group}`] ?? allFacts[resource] ?? {};
}

function factsOf(row: KindRow, version: string): ResourceFacts {
  const { statusSince, status, ...rest } = factsOfRow(row);
  const hasStatus = status !== undefined && (statusSince === undefined || version >= statusSince);
  return hasStatus ? { ...rest, status } : rest;
}

function verbsOf({ createOnly, readOnly, noDeleteCollection }: ResourceFacts): readonly string[] {
  if (createOnly) return ["create"];
  if (readOnly) return ["get", "list"];
  return noDeleteCollection ? standardVerbs.filter((verb) => verb !== "deletecollection") : standardVerbs;
}

/** The fields of core events under the names of events.k8s.io. */
function eventsFields(fields: readonly string[]): string[] {
  return fields
    .filter((field) => field !== "source")
    .map((field) =>
      field === "reportingComponent" ? "reportingController" : field.replace("involvedObject.", "regarding."),
    );
}

interface Deprecation {
  readonly since: string;
  readonly gone?: string;
  /** `discovery.k8s.io/v1 EndpointSlice` */
  readonly instead?: string;
  readonly except?: readonly string[];
}

/** By group and version, or by group, version and kind. */
const deprecated = deprecations as Readonly<Record<string, Deprecation | undefined>>;

/** The warning in the words of k8s.io/apiserver/pkg/endpoints/deprecation. */
function deprecation(row: KindRow, version: string): { deprecation?: string } {
  const groupVersion = apiVersionOf(row);
  const found = deprecated[`${groupVersion}/${row.kind}`] ?? deprecated[groupVersion];
  if (
    found === undefined ||
    found.except?.includes(row.kind) ||
    !isInRelease(version, { since: found.since })
  )
    return {};
  const gone = found.gone === undefined ? "" : `, unavailable in v${found.gone}+`;
  const instead = found.instead === undefined ? "" : `; use ${found.instead}`;
  return { deprecation: `${groupVersion} ${row.kind} is deprecated in v${found.since}+${gone}${instead}` };
}
