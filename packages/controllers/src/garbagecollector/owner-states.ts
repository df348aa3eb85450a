import { type Kind, type KubeObject, StatusError } from "@dray/api";
import type { OwnerReference } from "@dray/api/meta/v1";
import type { Client } from "@dray/client";
import type { ServedResources } from "../shared/served-resources.ts";

/**
 * The finalizer of an object that waits until its dependents are gone (meta/v1 FinalizerDeleteDependents).
 */
export const foreground = "foregroundDeletion";
/** The finalizer of an object whose dependents are to stay (meta/v1 FinalizerOrphanDependents). */
export const orphan = "orphan";

/** Owners known to be gone that are remembered, so that each is asked for once. */
const remembered = 500;

/**
 * `leaving`: it is being deleted in the foreground, and waits for its dependents. `unknown`: nothing
 * may be deleted yet.
 */
export type OwnerState = "there" | "leaving" | "gone" | "unknown";

/**
 * Whether owners are there, by what the server says of the kind, name and namespace that a reference gives.
 */
export interface OwnerStates {
  ask(object: KubeObject, reference: OwnerReference): Promise<OwnerState>;
  /** Remembers that an object is gone. */
  gone(object: KubeObject): void;
}

/** Calls `unmapped` for a dependent of an owner whose kind the server does not have (now). */
export function ownerStates(
  client: Client,
  resources: ServedResources,
  unmapped: (object: KubeObject, reference: OwnerReference) => void,
): OwnerStates {
  const absent = new Set<string>();

  function remember(key: string): void {
    if (absent.size >= remembered) absent.delete(absent.values().next().value ?? "");
    absent.add(key);
  }

  async function find(
    kind: Kind,
    namespace: string | undefined,
    name: string,
  ): Promise<KubeObject | undefined> {
    const ref = kind.namespaced && namespace !== undefined ? { namespace, name } : { name };
    try {
      return await client.resource(kind).get(ref);
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  }

  return {
    async ask(object, reference) {
      const { apiVersion, kind, name, uid } = reference;
      const { namespace } = placed(object);
      const key = (place = ""): string => [apiVersion, kind, place, name, uid].join("/");
      if (absent.has(key()) || absent.has(key(namespace))) return "gone";
      const found = resources.find(apiVersion, kind);
      if (found === undefined) {
        unmapped(object, reference);
        return "unknown";
      }
      // Validation allows it, but the namespace of such an owner is unknown.
      if (found.namespaced && namespace === undefined) return "unknown";
      const owner = await find(found, namespace, name);
      if (owner?.metadata.uid === uid) return isForeground(owner) ? "leaving" : "there";
      remember(key(found.namespaced ? namespace : ""));
      return "gone";
    },
    gone(object) {
      const { namespace = "", name, uid } = placed(object);
      remember([object.apiVersion, object.kind, namespace, name, uid].join("/"));
    },
  };
}

/** The references to the owners of an object. */
export function owned(object: KubeObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}

/** Metadata of an object of any scope. */
export function placed(object: KubeObject): KubeObject["metadata"] & { readonly namespace?: string } {
  return object.metadata;
}

/** Reports whether the owner can have dependents there: those of a namespaced one are in its namespace. */
export function isInReach(owner: KubeObject, dependent: KubeObject): boolean {
  const { namespace } = placed(owner);
  return namespace === undefined || namespace === placed(dependent).namespace;
}

/** Reports whether a reference names the object in every respect. */
export function isMeant(owner: KubeObject, { apiVersion, kind, name, uid }: OwnerReference): boolean {
  const { metadata } = owner;
  return (
    owner.apiVersion === apiVersion && owner.kind === kind && metadata.name === name && metadata.uid === uid
  );
}

export function isForeground(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && finalizers?.includes(foreground) === true;
}

export function isOrphaning(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && finalizers?.includes(orphan) === true;
}
