import { type FetchOptions, fetchDocument } from "./availability.ts";
import type { RemoteService } from "./back-end.ts";

/**
 * APIVersionDiscovery of apidiscovery.k8s.io/v2: the resources of a version, for the document of all groups.
 */
export interface VersionDiscovery {
  readonly version: string;
  readonly resources?: readonly object[];
  /** `Stale`: the back end could not be reached. */
  readonly freshness: "Current" | "Stale";
}

/** The last discovery document of a back end, and its ETag. */
export interface RemoteDiscovery {
  readonly entry: VersionDiscovery;
  readonly etag?: string;
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * Reads the resources of the version of an APIService, from the back end's document of all groups or from the
 * older one of the version. Rejects if neither can be read.
 *
 * Upstream: staging/src/k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go,
 * fetchFreshDiscoveryForService
 */
export async function readDiscovery(
  service: RemoteService,
  known: RemoteDiscovery | undefined,
  fetchOptions: FetchOptions,
): Promise<RemoteDiscovery> {
  const { group = "", version = "" } = service.spec;
  const address = fetchOptions.backEnds.address(service);
  const current = known?.entry.freshness === "Current" ? known : undefined;
  const tag: Record<string, string> = current?.etag === undefined ? {} : { "if-none-match": current.etag };
  const all = await fetchDocument(
    service,
    address,
    { path: "/apis", headers: { accept: aggregatedType, ...tag } },
    fetchOptions,
  );
  if (all.status === 304 && current?.etag !== undefined) return current;
  if (all.status === 503) throw new Error("the server answered 503 to /apis");
  if (all.status === 200 && isAggregated(all.headers["content-type"])) {
    const { etag } = all.headers;
    const found = inAggregated(JSON.parse(all.text), group, version);
    const entry = { version, ...found, freshness: "Current" } as const;
    return { entry, ...(etag === undefined ? {} : { etag }) };
  }
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const one = await fetchDocument(service, address, { path }, fetchOptions);
  if (one.status !== 200) throw new Error(`the server answered ${one.status} to ${path}`);
  return { entry: { version, resources: fromResourceList(JSON.parse(one.text)), freshness: "Current" } };
}

function isAggregated(type = ""): boolean {
  const parts = type.split(";").map((part) => part.trim());
  return aggregatedType.split(";").every((part) => parts.includes(part));
}

interface GroupDiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly DiscoveredResource[];
    }[];
  }[];
}

interface DiscoveredResource {
  readonly responseKind?: object | null;
  readonly subresources?: readonly { readonly responseKind?: object | null }[];
}

/** Some clients cannot read a resource without a kind (kubernetes/kubernetes issue 118361). */
function withKinds(resource: DiscoveredResource): object {
  const { responseKind, subresources, ...rest } = resource;
  const below = subresources?.map((each) => ({ ...each, responseKind: each.responseKind ?? noKind }));
  return { ...rest, responseKind: responseKind ?? noKind, ...(below && { subresources: below }) };
}

const noKind = { group: "", version: "", kind: "" };

function inAggregated(list: GroupDiscoveryList, group: string, version: string): object {
  const found = list.items
    ?.find(({ metadata }) => (metadata?.name ?? "") === group)
    ?.versions?.find((each) => each.version === version);
  return found?.resources === undefined ? {} : { resources: found.resources.map(withKinds) };
}

/** APIResource of meta/v1. */
interface ResourceRow {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** Upstream: staging/src/k8s.io/apiserver/pkg/endpoints, ConvertGroupVersionIntoToDiscovery */
function fromResourceList({ resources = [] }: { resources?: readonly ResourceRow[] }): object[] {
  const kindOf = ({ group = "", version = "", kind }: ResourceRow): object => ({ group, version, kind });
  const subresources = (parent: string): object[] =>
    resources
      .filter(({ name }) => name.startsWith(`${parent}/`))
      .map((row) => ({
        subresource: row.name.slice(parent.length + 1),
        responseKind: kindOf(row),
        verbs: row.verbs,
      }));
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map((row) => {
      const below = subresources(row.name);
      return {
        resource: row.name,
        responseKind: kindOf(row),
        scope: row.namespaced ? "Namespaced" : "Cluster",
        singularResource: row.singularName ?? "",
        verbs: row.verbs,
        ...(row.shortNames ? { shortNames: row.shortNames } : {}),
        ...(row.categories ? { categories: row.categories } : {}),
        ...(below.length === 0 ? {} : { subresources: below }),
      };
    });
}
