import { apiVersionOf, decodeJSON, type Kind, type KubeObject } from "@dray/api";
import type { Client } from "./client.ts";

/** Identifies a kind by its kind or its resource. */
export interface KindQuery {
  /** "" for the core group; if absent, the first group that has it, in the order of the server. */
  readonly group?: string;
  /** The preferred version of the server if absent. */
  readonly version?: string;
  readonly kind?: string;
  /** Plural, singular or short name: `pods`, `pod`, `po`. */
  readonly resource?: string;
}

/** A kind from the discovery of a server. */
export interface DiscoveredKind extends Kind<Unstructured> {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
}

/** The kinds of a server, including custom resources. Upstream: client-go, restmapper. */
export interface RestMapper {
  /**
   * Returns a kind for `client.resource` and `client.informer`. Reads discovery again for an unknown kind: it
   * may be new. Rejects with `NoMatchError`, or with the error of a request.
   */
  find(query: KindQuery): Promise<DiscoveredKind>;
  /** Returns all kinds, the preferred version of each group first. */
  kinds(): Promise<readonly DiscoveredKind[]>;
  /**
   * Returns the versions (`group/version`) of aggregated servers that do not respond: their kinds are
   * missing.
   */
  unread(): Promise<readonly string[]>;
}

/** The server has no such kind or resource. */
export class NoMatchError extends Error {
  override readonly name = "NoMatchError";

  constructor(query: KindQuery) {
    const { group = "", version = "", kind, resource = "" } = query;
    super(
      kind === undefined
        ? `no matches for ${group}/${version}, Resource=${resource}`
        : `no matches for kind ${JSON.stringify(kind)} in ${
            version === "" ? "group" : "version"
          } ${JSON.stringify(version === "" ? group : apiVersionOf({ group, version }))}`,
    );
  }
}

/** Makes a mapper that reads discovery on the first call, and again for an unknown kind. */
export function createRestMapper(client: Client): RestMapper {
  let cached: Promise<Discovery> | undefined;

  function read(): Promise<Discovery> {
    const reading = discover(client);
    cached = reading;
    reading.catch(() => {
      if (cached === reading) cached = undefined;
    });
    return reading;
  }

  return {
    kinds: async () => (await (cached ?? read())).kinds,
    unread: async () => (await (cached ?? read())).unread,
    async find(query) {
      const matches = matcher(query);
      const known = await cached?.catch(() => undefined);
      const found = known?.kinds.find(matches) ?? (await read()).kinds.find(matches);
      if (found === undefined) throw new NoMatchError(query);
      return found;
    },
  };
}

function matcher({ group, version, kind, resource }: KindQuery): (row: DiscoveredKind) => boolean {
  const name = resource?.toLowerCase();
  return (row) =>
    (group === undefined || row.group === group) &&
    (version === undefined || row.version === version) &&
    (kind === undefined || row.kind === kind) &&
    (name === undefined || row.resource === name || row.singular === name || row.shortNames.includes(name));
}

/** Aggregated discovery (KEP-3352): one document for all groups. Go writes null for empty lists. */
interface AggregatedGroups {
  readonly kind: "APIGroupDiscoveryList";
  readonly items?:
    | readonly {
        readonly metadata?: { readonly name?: string } | null;
        readonly versions?:
          | readonly {
              readonly version: string;
              readonly freshness?: string;
              readonly resources?:
                | readonly {
                    readonly resource: string;
                    readonly responseKind?: {
                      readonly group?: string;
                      readonly version?: string;
                      readonly kind: string;
                    } | null;
                    readonly scope: "Namespaced" | "Cluster";
                    readonly singularResource?: string;
                    readonly shortNames?: readonly string[] | null;
                    readonly categories?: readonly string[] | null;
                    readonly verbs?: readonly string[] | null;
                  }[]
                | null;
            }[]
          | null;
      }[]
    | null;
}

/** The result of reading discovery. */
interface Discovery {
  readonly kinds: readonly DiscoveredKind[];
  readonly unread: readonly string[];
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

const acceptAggregated = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

async function discover(client: Client): Promise<Discovery> {
  const documents = await Promise.all(["/api", "/apis"].map((path) => read(client, path, acceptAggregated)));
  const parts = documents.flatMap((document) =>
    isAggregated(document)
      ? [Promise.resolve({ kinds: fromGroups(document), unread: staleVersions(document) })]
      : versionsOf(document).map((version) => fromVersion(client, version)),
  );
  const lists = await Promise.allSettled(parts);
  const found = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  const kinds = found.flatMap((part) => part.kinds);
  // A version whose aggregated server does not respond is left out, unless there is no other.
  const failed = lists.find((list) => list.status === "rejected");
  if (failed !== undefined && kinds.length === 0) throw failed.reason;
  return { kinds, unread: found.flatMap((part) => part.unread) };
}

async function read(client: Client, path: string, accept = "application/json"): Promise<unknown> {
  return decodeJSON(await client.text("GET", path, { headers: { accept } }));
}

function isAggregated(document: unknown): document is AggregatedGroups {
  return (document as { readonly kind?: unknown }).kind === "APIGroupDiscoveryList";
}

function staleVersions({ items }: AggregatedGroups): string[] {
  return (items ?? []).flatMap(({ metadata, versions }) =>
    (versions ?? [])
      .filter(({ freshness }) => freshness === "Stale")
      .map(({ version }) => apiVersionOf({ group: metadata?.name ?? "", version })),
  );
}

function fromGroups({ items }: AggregatedGroups): DiscoveredKind[] {
  return (items ?? []).flatMap(({ metadata, versions }) =>
    (versions ?? []).flatMap(({ version, resources }) =>
      (resources ?? []).flatMap(({ resource, responseKind, scope, singularResource, ...row }) =>
        responseKind == null
          ? []
          : [
              kindOf({ group: metadata?.name ?? "", version }, responseKind.kind, resource, {
                ...row,
                namespaced: scope === "Namespaced",
                ...(singularResource === undefined ? {} : { singularName: singularResource }),
              }),
            ],
      ),
    ),
  );
}

/** Returns the versions of an APIVersions or an APIGroupList, the preferred one of each group first. */
function versionsOf(document: unknown): GroupVersion[] {
  const { versions, groups } = document as {
    readonly versions?: readonly string[] | null;
    readonly groups?:
      | readonly {
          readonly name: string;
          readonly versions: readonly { readonly version: string }[] | null;
          readonly preferredVersion?: { readonly version: string } | null;
        }[]
      | null;
  };
  return [
    ...(versions ?? []).map((version) => ({ group: "", version })),
    ...(groups ?? []).flatMap(({ name, versions, preferredVersion }) => {
      const first = preferredVersion?.version;
      const all = (versions ?? []).map(({ version }) => version);
      return [
        ...all.filter((version) => version === first),
        ...all.filter((version) => version !== first),
      ].map((version) => ({ group: name, version }));
    }),
  ];
}

/** Reads the APIResourceList of one version. Rejects only for a version of the core group. */
async function fromVersion(client: Client, version: GroupVersion): Promise<Discovery> {
  const path = version.group === "" ? `/api/${version.version}` : `/apis/${apiVersionOf(version)}`;
  let list: { readonly resources?: readonly ResourceRow[] | null };
  try {
    list = (await read(client, path)) as typeof list;
  } catch (error) {
    if (version.group === "") throw error;
    return { kinds: [], unread: [apiVersionOf(version)] };
  }
  const rows = (list.resources ?? []).filter(({ name }) => !name.includes("/"));
  return { kinds: rows.map(({ name, kind, ...row }) => kindOf(version, kind, name, row)), unread: [] };
}

interface ResourceDetails {
  readonly namespaced: boolean;
  readonly singularName?: string;
  readonly shortNames?: readonly string[] | null;
  readonly categories?: readonly string[] | null;
  readonly verbs?: readonly string[] | null;
}

interface ResourceRow extends ResourceDetails {
  readonly name: string;
  readonly kind: string;
}

function kindOf(
  { group, version }: GroupVersion,
  kind: string,
  resource: string,
  row: ResourceDetails,
): DiscoveredKind {
  return Object.freeze({
    group,
    version,
    kind,
    resource,
    namespaced: row.namespaced,
    singular: row.singularName || kind.toLowerCase(),
    shortNames: row.shortNames ?? [],
    categories: row.categories ?? [],
    verbs: row.verbs ?? [],
  });
}

/** An object of any kind, of which only the metadata is typed. */
export type Unstructured = KubeObject & { readonly [field: string]: unknown };
