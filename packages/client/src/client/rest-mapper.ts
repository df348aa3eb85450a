import { apiVersionOf, decodeJSON, type Kind, type KubeObject } from "@dray/api";
import type { Client } from "./client.ts";

/** Names a kind by its kind or its resource; what is left out is found out. */
export interface KindQuery {
  /** "" for the core group; the first that has it, in the server's order, if absent. */
  readonly group?: string;
  /** The one that the server prefers if absent. */
  readonly version?: string;
  readonly kind?: string;
  /** Plural, singular or short name: `pods`, `pod`, `po`. */
  readonly resource?: string;
}

/** A kind as the server's discovery tells it. */
export interface DiscoveredKind extends Kind<Unstructured> {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
}

/** The kinds that a server has, custom resources among them (client-go's RESTMapper). */
export interface RestMapper {
  /**
   * The kind to hand to `client.resource` and `client.informer`. What is not known is looked for once more, since it
   * may be new. Rejects with `NoMatchError`, or as requests do.
   */
  find(query: KindQuery): Promise<DiscoveredKind>;
  /** All kinds that have a resource of their own, of each group the preferred version first. */
  kinds(): Promise<readonly DiscoveredKind[]>;
  /** The versions (`group/version`) of servers behind this one that could not be asked: their kinds are not known. */
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

/** A mapper that reads discovery when it is first asked, and again when it is asked for what it does not know. */
export function createRestMapper(client: Client): RestMapper {
  let known: Promise<Discovered> | undefined;

  function read(): Promise<Discovered> {
    const reading = discover(client);
    known = reading;
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading;
  }

  return {
    kinds: async () => (await (known ?? read())).kinds,
    unread: async () => (await (known ?? read())).unread,
    async find(query) {
      const wanted = matcher(query);
      const cached = await known?.catch(() => undefined);
      const found = cached?.kinds.find(wanted) ?? (await read()).kinds.find(wanted);
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

/** Aggregated discovery (KEP-3352), in which one document holds all groups. */
interface AggregatedGroups {
  readonly kind: "APIGroupDiscoveryList";
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly freshness?: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind: string };
        readonly scope: "Namespaced" | "Cluster";
        readonly singularResource?: string;
        readonly shortNames?: readonly string[];
        readonly categories?: readonly string[];
        readonly verbs?: readonly string[];
      }[];
    }[];
  }[];
}

/** What a look at discovery has found. */
interface Discovered {
  readonly kinds: readonly DiscoveredKind[];
  readonly unread: readonly string[];
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

const aggregated = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

async function discover(client: Client): Promise<Discovered> {
  const documents = await Promise.all(["/api", "/apis"].map((path) => read(client, path, aggregated)));
  const parts = documents.flatMap((document) =>
    isAggregated(document)
      ? [Promise.resolve({ kinds: fromGroups(document), unread: staleVersions(document) })]
      : versionsOf(document).map((version) => fromVersion(client, version)),
  );
  const lists = await Promise.allSettled(parts);
  const found = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  const kinds = found.flatMap((part) => part.kinds);
  // A version that cannot be read (its own server is away) is left out, as long as there is another.
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

function staleVersions({ items = [] }: AggregatedGroups): string[] {
  return items.flatMap(({ metadata, versions = [] }) =>
    versions
      .filter(({ freshness }) => freshness === "Stale")
      .map(({ version }) => apiVersionOf({ group: metadata?.name ?? "", version })),
  );
}

function fromGroups({ items = [] }: AggregatedGroups): DiscoveredKind[] {
  return items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(({ resource, responseKind, scope, singularResource, ...row }) =>
        responseKind === undefined
          ? []
          : [
              discovered({ group: metadata?.name ?? "", version }, responseKind.kind, resource, {
                ...row,
                namespaced: scope === "Namespaced",
                ...(singularResource === undefined ? {} : { singularName: singularResource }),
              }),
            ],
      ),
    ),
  );
}

/** The versions that an APIVersions or an APIGroupList names, of each group the preferred first. */
function versionsOf(document: unknown): GroupVersion[] {
  const { versions = [], groups = [] } = document as {
    readonly versions?: readonly string[];
    readonly groups?: readonly {
      readonly name: string;
      readonly versions: readonly { readonly version: string }[];
      readonly preferredVersion?: { readonly version: string };
    }[];
  };
  return [
    ...versions.map((version) => ({ group: "", version })),
    ...groups.flatMap(({ name, versions, preferredVersion }) => {
      const first = preferredVersion?.version;
      const all = versions.map(({ version }) => version);
      return [
        ...all.filter((version) => version === first),
        ...all.filter((version) => version !== first),
      ].map((version) => ({ group: name, version }));
    }),
  ];
}

/** From the APIResourceList of one version. Rejects only if that is one of the core group. */
async function fromVersion(client: Client, version: GroupVersion): Promise<Discovered> {
  const path = version.group === "" ? `/api/${version.version}` : `/apis/${apiVersionOf(version)}`;
  let list: { readonly resources?: readonly ResourceRow[] };
  try {
    list = (await read(client, path)) as typeof list;
  } catch (error) {
    if (version.group === "") throw error;
    return { kinds: [], unread: [apiVersionOf(version)] };
  }
  const rows = (list.resources ?? []).filter(({ name }) => !name.includes("/"));
  return { kinds: rows.map(({ name, kind, ...row }) => discovered(version, kind, name, row)), unread: [] };
}

interface ResourceDetails {
  readonly namespaced: boolean;
  readonly singularName?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs?: readonly string[];
}

interface ResourceRow extends ResourceDetails {
  readonly name: string;
  readonly kind: string;
}

function discovered(
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

/** An object of any kind: beside its metadata nothing is known of it. */
export type Unstructured = KubeObject & { readonly [field: string]: unknown };
