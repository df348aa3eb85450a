import { createHash } from "node:crypto";
import { compareVersions, type ServedResource } from "../registry/kinds.ts";
import type { ResourceSet } from "../registry/resource-set.ts";

/** The groups of the API in the order in which discovery shows them. */
const groupOrder = [
  "",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
  "flowcontrol.apiserver.k8s.io",
  "resource.k8s.io",
  "storagemigration.k8s.io",
];

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ServedResource[];
}

/** What the server serves now, as the discovery documents of Kubernetes say it. */
export class Discovery {
  readonly #resources: ResourceSet;
  #revision = -1;
  #groups: ReadonlyMap<string, readonly GroupVersion[]> = new Map();

  constructor(resources: ResourceSet) {
    this.#resources = resources;
  }

  /** Made anew after a change; what has not changed in it stays the same object. */
  get groups(): ReadonlyMap<string, readonly GroupVersion[]> {
    if (this.#revision !== this.#resources.revision) {
      this.#groups = grouped(this.#resources.list, this.#groups);
      this.#revision = this.#resources.revision;
    }
    return this.#groups;
  }

  /** Of the core group; every client finds the server at the same `address`. */
  versions(address: string): object {
    return {
      kind: "APIVersions",
      versions: (this.groups.get("") ?? []).map(({ version }) => version),
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
    };
  }

  groupList(): object {
    const names = [...this.groups.keys()].filter((name) => name !== "");
    return { kind: "APIGroupList", apiVersion: "v1", groups: names.map((name) => this.#group(name)) };
  }

  group(name: string): object | undefined {
    if (name === "" || !this.groups.has(name)) return undefined;
    return { kind: "APIGroup", apiVersion: "v1", ...this.#group(name) };
  }

  #group(name: string): object {
    const versions = this.groups
      .get(name)!
      .map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions, preferredVersion: versions[0] };
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
    const names = [...this.groups.keys()].filter((name) => (name === "") === core);
    return {
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
      items: names.map((name) => ({
        metadata: name === "" ? {} : { name },
        versions: this.groups.get(name)!.map(({ version, resources }) => ({
          version,
          freshness: "Current",
          resources: resources.map(aggregatedResource),
        })),
      })),
    };
  }
}

function grouped(
  served: readonly ServedResource[],
  before: ReadonlyMap<string, readonly GroupVersion[]>,
): ReadonlyMap<string, readonly GroupVersion[]> {
  const groups = new Map<string, GroupVersion[]>();
  const order = (group: string): number => (groupOrder.indexOf(group) + 1 || 999) - 1;
  const names = [...new Set(served.map((resource) => resource.group))].sort(
    (a, b) => order(a) - order(b) || (a < b ? -1 : 1),
  );
  for (const group of names) {
    const own = served.filter((resource) => resource.group === group);
    const versions = [...new Set(own.map((resource) => resource.version))].sort((a, b) =>
      compareVersions(b, a),
    );
    groups.set(
      group,
      versions.map((version) => {
        const resources = own
          .filter((resource) => resource.version === version)
          .sort((a, b) => (a.resource < b.resource ? -1 : 1));
        const known = before.get(group)?.find((one) => one.version === version);
        const same =
          known?.resources.length === resources.length &&
          resources.every((resource, index) => resource === known.resources[index]);
        return same ? known : { group, version, resources };
      }),
    );
  }
  return groups;
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
  // Kinds that bring their model along say where they are from; upstream's own do not.
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
