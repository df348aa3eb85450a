import type { Kind, KubeObject } from "@dray/api";
import type { Client, Informer } from "@dray/client";
import type { ControllerContext } from "./context.ts";
import { groupOf } from "./owners.ts";

/** A kind that the server has and that can be listed, watched and deleted. */
export interface ServedResource {
  readonly kind: Kind;
  /** Whether a whole collection can be deleted at once. */
  readonly deleteCollection: boolean;
}

/** Events own nothing and are owned by nothing, and come in great number: nobody caches them. */
export function isCached({ kind }: ServedResource): boolean {
  return kind.resource !== "events";
}

/** All kinds whose objects can be deleted, with caches: what collecting garbage and namespaces needs. */
export interface ServedResources {
  readonly list: readonly ServedResource[];
  /** By group and kind, whatever the version of the reference. */
  find(apiVersion: string, kind: string): ServedResource | undefined;
  informer(resource: ServedResource): Informer<KubeObject>;
}

const aggregated =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/** What `/api` and `/apis` answer (KEP-3352). */
interface DiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind?: string };
        readonly scope?: string;
        readonly verbs?: readonly string[];
      }[];
    }[];
  }[];
}

/** Asks the server what it serves; of each kind the version that it prefers. */
export async function discover(client: Client): Promise<ServedResource[]> {
  const found: ServedResource[] = [];
  for (const path of ["/api", "/apis"]) {
    const { items = [] } = JSON.parse(
      await client.text("GET", path, { headers: { accept: aggregated } }),
    ) as DiscoveryList;
    for (const { metadata, versions = [] } of items) {
      const group = metadata?.name ?? "";
      const seen = new Set<string>();
      for (const { version, resources = [] } of versions) {
        for (const { resource, responseKind, scope, verbs = [] } of resources) {
          if (seen.has(resource)) continue;
          if (!["delete", "list", "watch"].every((verb) => verbs.includes(verb))) continue;
          seen.add(resource);
          const kind = {
            group,
            version,
            kind: responseKind?.kind ?? "",
            resource,
            namespaced: scope === "Namespaced",
          };
          found.push({ kind, deleteCollection: verbs.includes("deletecollection") });
        }
      }
    }
  }
  return found;
}

export async function servedResources(context: ControllerContext): Promise<ServedResources> {
  const list = await discover(context.client);
  const byKind = new Map(list.map((resource) => [`${resource.kind.group}/${resource.kind.kind}`, resource]));
  return {
    list,
    find: (apiVersion, kind) => byKind.get(`${groupOf(apiVersion)}/${kind}`),
    informer: (resource) => context.informers.of(resource.kind),
  };
}
