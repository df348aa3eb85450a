import { createHash } from "node:crypto";
import { localPriority, type Priority } from "../aggregation/priorities.ts";
import type { Remote } from "../aggregation/remote-services.ts";
import type { ResourceSet } from "../kinds/resource-set.ts";
import { compareVersions, type ServedResource } from "../kinds/resources.ts";

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ServedResource[];
}

/** Versions of other servers, for discovery. */
export interface RemoteVersions {
  /** Changes with every change of the documents. */
  readonly revision: number;
  readonly list: Iterable<Remote>;
  find(group: string, version: string): unknown;
}

/** A version in the documents. */
interface Listed {
  readonly group: string;
  readonly version: string;
  readonly priority: Priority;
  /** The resources of this server, or the version of another one. */
  readonly source: GroupVersion | Remote;
}

/** The discovery documents of the currently served resources. */
export class Discovery {
  readonly #resources: ResourceSet;
  readonly #remote: RemoteVersions;
  #revision = "";
  #groups: ReadonlyMap<string, readonly GroupVersion[]> = new Map();
  #listed: ReadonlyMap<string, readonly Listed[]> = new Map();

  constructor(resources: ResourceSet, remote: RemoteVersions) {
    this.#resources = resources;
    this.#remote = remote;
  }

  /** The groups of this server itself. Rebuilt after a change; unchanged versions stay the same object. */
  get groups(): ReadonlyMap<string, readonly GroupVersion[]> {
    this.#update();
    return this.#groups;
  }

  /** The versions of other servers. */
  get remote(): Iterable<Remote> {
    return this.#remote.list;
  }

  /** The paths of all groups and versions. */
  get paths(): string[] {
    return [...this.#all].flatMap(([group, versions]) => {
      const root = group === "" ? "/api" : `/apis/${group}`;
      return [root, ...versions.map(({ version }) => `${root}/${version}`)];
    });
  }

  #update(): void {
    const revision = `${this.#resources.revision}/${this.#remote.revision}`;
    if (this.#revision === revision) return;
    const own = this.#resources.list.filter(({ group, version }) => !this.#remote.find(group, version));
    this.#groups = grouped(own, this.#groups);
    this.#listed = listed(this.#groups, this.#remote.list);
    this.#revision = revision;
  }

  /** All groups in order, with the current documents of other servers. */
  get #all(): ReadonlyMap<string, readonly Listed[]> {
    this.#update();
    return this.#listed;
  }

  /** Returns APIVersions of the core group; every client reaches the server at the same `address`. */
  versions(address: string): object {
    return {
      kind: "APIVersions",
      versions: (this.#all.get("") ?? []).map(({ version }) => version),
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
    };
  }

  groupList(): object {
    const groups = [...this.#all].filter(([name]) => name !== "");
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: groups.map(([name, versions]) => groupOf(name, versions)),
    };
  }

  group(name: string): object | undefined {
    const versions = name === "" ? undefined : this.#all.get(name);
    return versions && { kind: "APIGroup", apiVersion: "v1", ...groupOf(name, versions) };
  }

  resourceList(group: string, version: string): object | undefined {
    const found = this.groups.get(group)?.find((entry) => entry.version === version);
    if (found === undefined) return undefined;
    return {
      kind: "APIResourceList",
      ...(group === "" ? {} : { apiVersion: "v1" }),
      groupVersion: group === "" ? version : `${group}/${version}`,
      resources: found.resources.flatMap(resourceRows),
    };
  }

  /** APIGroupDiscoveryList (apidiscovery.k8s.io/v2): the core group, or all the others. */
  aggregated(core: boolean): object {
    const groups = [...this.#all].filter(([name]) => (name === "") === core);
    const items = groups.map(([name, versions]) => ({
      metadata: name === "" ? {} : { name },
      versions: versions.flatMap(aggregatedVersion),
    }));
    return {
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
      items: items.filter(({ versions }) => versions.length > 0),
    };
  }
}

function groupOf(name: string, listed: readonly Listed[]): object {
  const versions = listed.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] };
}

/** Empty for a version of another server that has not been read yet. */
function aggregatedVersion({ version, source }: Listed): object[] {
  if ("service" in source) return source.discovery === undefined ? [] : [source.discovery.entry];
  return [{ version, freshness: "Current", resources: source.resources.map(aggregatedResource) }];
}

function grouped(
  served: readonly ServedResource[],
  before: ReadonlyMap<string, readonly GroupVersion[]>,
): ReadonlyMap<string, readonly GroupVersion[]> {
  const groups = Map.groupBy(served, ({ group }) => group);
  const made = [...groups].map(([group, own]): [string, GroupVersion[]] => {
    const versions = [...Map.groupBy(own, ({ version }) => version)].map(([version, resources]) =>
      keptOrMade(group, version, resources, before),
    );
    return [group, inOrder(versions, ({ version }) => localPriority(group, version).version)];
  });
  const sorted = made.sort(byGroup(({ group, version }) => localPriority(group, version)));
  const isSame =
    sorted.length === before.size &&
    sorted.every(([group, versions]) => {
      const known = before.get(group);
      return known?.length === versions.length && versions.every((each, index) => each === known[index]);
    });
  return isSame ? before : new Map(sorted);
}

function keptOrMade(
  group: string,
  version: string,
  own: readonly ServedResource[],
  before: ReadonlyMap<string, readonly GroupVersion[]>,
): GroupVersion {
  const resources = own.toSorted((a, b) => (a.resource < b.resource ? -1 : 1));
  const known = before.get(group)?.find((one) => one.version === version);
  const isSame =
    known?.resources.length === resources.length &&
    resources.every((resource, index) => resource === known.resources[index]);
  return isSame ? known : { group, version, resources };
}

/** Sorts versions of one group, the preferred one first. */
function inOrder<Version extends { readonly version: string }>(
  versions: readonly Version[],
  priority: (version: Version) => number,
): Version[] {
  return versions.toSorted((a, b) => priority(b) - priority(a) || compareVersions(b.version, a.version));
}

/**
 * Sorts groups: the core group, then by the highest priority of their versions, then by name.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/discovery/aggregated, calculateAPIGroupsLocked
 */
function byGroup<Version>(
  priorityOf: (version: Version) => Priority,
): (a: readonly [string, readonly Version[]], b: readonly [string, readonly Version[]]) => number {
  const rank = ([name, versions]: readonly [string, readonly Version[]]): number =>
    name === "" ? Number.MAX_SAFE_INTEGER : Math.max(...versions.map((each) => priorityOf(each).group));
  return (a, b) => rank(b) - rank(a) || (a[0] < b[0] ? -1 : 1);
}

function listed(
  local: ReadonlyMap<string, readonly GroupVersion[]>,
  remote: Iterable<Remote>,
): ReadonlyMap<string, readonly Listed[]> {
  const all: Listed[] = [...local.values()].flat().map((own) => ({
    group: own.group,
    version: own.version,
    priority: localPriority(own.group, own.version),
    source: own,
  }));
  for (const each of remote) {
    const { group = "", version = "", groupPriorityMinimum, versionPriority } = each.service.spec;
    const priority = { group: groupPriorityMinimum, version: versionPriority };
    all.push({ group, version, priority, source: each });
  }
  const groups = [...Map.groupBy(all, ({ group }) => group)].map(([group, versions]): [string, Listed[]] => [
    group,
    inOrder(versions, ({ priority }) => priority.version),
  ]);
  return new Map(groups.sort(byGroup(({ priority }) => priority)));
}

function resourceRows(resource: ServedResource): object[] {
  const rows: object[] = [
    {
      name: resource.resource,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...(resource.shortNames ? { shortNames: resource.shortNames } : {}),
      ...(resource.categories ? { categories: resource.categories } : {}),
      ...(resource.facts.createOnly || resource.facts.readOnly || resource.facts.noStorageHash
        ? {}
        : { storageVersionHash: storageVersionHash(resource) }),
    },
  ];
  for (const [name, sub] of resource.subresources) {
    rows.push({
      name: `${resource.resource}/${name}`,
      singularName: "",
      namespaced: resource.namespaced,
      ...(sub.group === undefined ? {} : { group: sub.group, version: sub.version }),
      kind: sub.kind,
      verbs: sub.verbs,
    });
  }
  return rows;
}

function storageVersionHash({ stored, storageVersion }: ServedResource): string {
  const text = `${stored.group}/${storageVersion}/${stored.kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}

function aggregatedResource(resource: ServedResource): object {
  // Kinds of custom resources have group and version here; upstream's built-in kinds do not.
  const { group, version } = resource.model === undefined ? { group: "", version: "" } : resource;
  const own = { group, version, kind: resource.kind };
  const subresources = [...resource.subresources].map(([name, sub]) => ({
    subresource: name,
    responseKind: { group: sub.group ?? group, version: sub.version ?? version, kind: sub.kind },
    verbs: sub.verbs,
  }));
  return {
    resource: resource.resource,
    responseKind: own,
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...(resource.shortNames ? { shortNames: resource.shortNames } : {}),
    ...(resource.categories ? { categories: resource.categories } : {}),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
