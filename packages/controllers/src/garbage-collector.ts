import { type KubeObject, StatusError } from "@dray/api";
import type { OwnerReference } from "@dray/api/meta/v1";
import type { ObjectRef } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "./context.ts";
import { isCached, type ServedResource, type ServedResources } from "./resources.ts";

const foreground = "foregroundDeletion";
const orphan = "orphan";
/** Owners known to be gone that are remembered, so that each is asked for once. */
const remembered = 500;

/** An object as the graph of owners sees it. */
interface Vertex {
  readonly resource: ServedResource;
  object: KubeObject & { metadata: { namespace?: string } };
  /** Objects that name this one as an owner. */
  readonly dependents: Set<Vertex>;
}

/**
 * Deletes objects whose owners are all gone; finishes foreground deletions once the dependents that block them are
 * gone, and orphaning ones once no dependent names the owner any more (metadata.ownerReferences).
 */
export async function startGarbageCollector(
  context: ControllerContext,
  resources: ServedResources,
): Promise<Controller> {
  const { client } = context;
  const vertices = new Map<string, Vertex>();
  /** Dependents of owners that have not been seen (yet). */
  const waiting = new Map<string, Set<Vertex>>();
  const absent = new Set<string>();
  const cached = resources.list.filter(isCached);
  await synced(
    context,
    cached.map((resource) => resources.informer(resource)),
  );

  const queues = controllerQueues(context);
  const queue = queues.queue("garbagecollector", reconcile, 10);
  // All caches first, so that most owners are known when their dependents are looked at.
  const loading: string[] = [];
  let loaded = false;
  const look = (uid: string): void => {
    if (loaded) queue.add(uid);
    else loading.push(uid);
  };
  for (const resource of cached) {
    resources.informer(resource).handle({
      add: (object) => put(resource, object),
      update: (object) => put(resource, object),
      delete: (object) => remove(object),
    });
  }
  loaded = true;
  for (const uid of loading) queue.add(uid);

  function dependentsOf(uid: string): Set<Vertex> {
    const vertex = vertices.get(uid);
    if (vertex !== undefined) return vertex.dependents;
    const set = waiting.get(uid) ?? new Set();
    waiting.set(uid, set);
    return set;
  }

  function put(resource: ServedResource, object: KubeObject): void {
    const { uid } = object.metadata;
    let vertex = vertices.get(uid);
    const before = vertex?.object;
    if (vertex === undefined) {
      vertex = { resource, object, dependents: waiting.get(uid) ?? new Set() };
      waiting.delete(uid);
      absent.delete(uid);
      vertices.set(uid, vertex);
    }
    vertex.object = object;
    const owners = new Set(owned(object).map((reference) => reference.uid));
    for (const { uid: old } of before === undefined ? [] : owned(before))
      if (!owners.has(old)) unlink(old, vertex);
    let unknown = false;
    for (const owner of owners) {
      dependentsOf(owner).add(vertex);
      const known = vertices.get(owner);
      unknown ||= known === undefined || isForeground(known.object);
    }
    // Of an owner that is not there (yet), and of one that waits for this very object, a closer look tells.
    if (unknown || isForeground(object) || isOrphaning(object)) look(uid);
    // What no longer blocks its owner lets the owner's deletion go on.
    if (before !== undefined) for (const { uid: owner } of owned(before)) retryForeground(owner);
  }

  function remove(object: KubeObject): void {
    const { uid } = object.metadata;
    const vertex = vertices.get(uid);
    vertices.delete(uid);
    markAbsent(uid);
    for (const { uid: owner } of owned(object)) {
      if (vertex !== undefined) unlink(owner, vertex);
      retryForeground(owner);
    }
    if (vertex === undefined || vertex.dependents.size === 0) return;
    waiting.set(uid, vertex.dependents);
    for (const dependent of vertex.dependents) look(dependent.object.metadata.uid);
  }

  function unlink(owner: string, vertex: Vertex): void {
    const set = vertices.get(owner)?.dependents ?? waiting.get(owner);
    set?.delete(vertex);
    if (set?.size === 0) waiting.delete(owner);
  }

  function retryForeground(owner: string): void {
    const vertex = vertices.get(owner);
    if (vertex !== undefined && isForeground(vertex.object)) look(owner);
  }

  function markAbsent(uid: string): void {
    if (absent.size >= remembered) absent.delete(absent.values().next().value ?? "");
    absent.add(uid);
  }

  async function reconcile(uid: string): Promise<void> {
    const vertex = vertices.get(uid);
    if (vertex === undefined) return;
    if (isOrphaning(vertex.object)) return releaseDependents(vertex);
    if (isForeground(vertex.object)) return finishForeground(vertex);
    // Its own deletion is under way: its dependents come when it is gone.
    if (vertex.object.metadata.deletionTimestamp !== undefined) return;
    await judge(vertex);
  }

  /** Deletes the object if no owner is left that keeps it. */
  async function judge(vertex: Vertex): Promise<void> {
    const references = owned(vertex.object);
    if (references.length === 0) return;
    const keeping: OwnerReference[] = [];
    const leaving: OwnerReference[] = [];
    for (const reference of references) {
      const state = await ownerState(vertex, reference);
      if (state === "there") keeping.push(reference);
      else if (state === "leaving") leaving.push(reference);
    }
    if (keeping.length === references.length) return;
    if (keeping.length > 0) return patchOwners(vertex, keeping);
    const { finalizers = [] } = vertex.object.metadata;
    // Owners that wait for this one want its own dependents gone, too, before it goes.
    const waits = leaving.length > 0 && vertex.dependents.size > 0;
    const propagationPolicy = finalizers.includes(orphan)
      ? "Orphan"
      : waits || finalizers.includes(foreground)
        ? "Foreground"
        : "Background";
    const { uid, resourceVersion } = vertex.object.metadata;
    await settle(async () => {
      await client
        .resource(vertex.resource.kind)
        .delete(refOf(vertex), { propagationPolicy, preconditions: { uid, resourceVersion } });
    });
  }

  /** `leaving`: it is being deleted in the foreground, and waits for its dependents. */
  async function ownerState(
    vertex: Vertex,
    reference: OwnerReference,
  ): Promise<"there" | "leaving" | "gone"> {
    const known = vertices.get(reference.uid);
    if (known !== undefined) {
      const elsewhere =
        known.resource.kind.namespaced &&
        known.object.metadata.namespace !== vertex.object.metadata.namespace;
      if (elsewhere) return "gone";
      return isForeground(known.object) ? "leaving" : "there";
    }
    if (absent.has(reference.uid)) return "gone";
    // The caches of different kinds are not in step: only the server knows that it is not there.
    const resource = resources.find(reference.apiVersion, reference.kind);
    if (resource === undefined) {
      throw new Error(
        `owner ${reference.kind} of ${reference.apiVersion} is of a kind that the server does not know`,
      );
    }
    const { namespace } = vertex.object.metadata;
    if (resource.kind.namespaced && namespace === undefined) return "gone";
    const ref = resource.kind.namespaced
      ? { namespace: namespace ?? "", name: reference.name }
      : { name: reference.name };
    try {
      const owner = await client.resource(resource.kind).get(ref);
      if (owner.metadata.uid === reference.uid) return isForeground(owner) ? "leaving" : "there";
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    markAbsent(reference.uid);
    return "gone";
  }

  /** Lets the owner go when no dependent blocks it; else sees to it that those are deleted. */
  async function finishForeground(vertex: Vertex): Promise<void> {
    const { uid } = vertex.object.metadata;
    const blocking = [...vertex.dependents].filter(({ object }) =>
      owned(object).some((reference) => reference.uid === uid && reference.blockOwnerDeletion === true),
    );
    if (blocking.length === 0) return dropFinalizer(vertex, foreground);
    for (const dependent of vertex.dependents)
      if (dependent.object.metadata.deletionTimestamp === undefined) queue.add(dependent.object.metadata.uid);
  }

  async function releaseDependents(vertex: Vertex): Promise<void> {
    const { uid } = vertex.object.metadata;
    for (const dependent of vertex.dependents) {
      const kept = owned(dependent.object).filter((reference) => reference.uid !== uid);
      await patchOwners(dependent, kept);
    }
    await dropFinalizer(vertex, orphan);
  }

  async function dropFinalizer(vertex: Vertex, name: string): Promise<void> {
    const { uid, resourceVersion, finalizers = [] } = vertex.object.metadata;
    const kept = finalizers.filter((finalizer) => finalizer !== name);
    await settle(async () => {
      await client
        .resource(vertex.resource.kind)
        .patch(refOf(vertex), "merge", { metadata: { uid, resourceVersion, finalizers: kept } });
    });
  }

  async function patchOwners(vertex: Vertex, ownerReferences: readonly OwnerReference[]): Promise<void> {
    const { uid, resourceVersion } = vertex.object.metadata;
    await settle(async () => {
      await client
        .resource(vertex.resource.kind)
        .patch(refOf(vertex), "merge", { metadata: { uid, resourceVersion, ownerReferences } });
    });
  }

  /** An object that is gone needs nothing more. */
  async function settle(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }

  return queues.controller;
}

function owned(object: KubeObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}

function isForeground(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && finalizers?.includes(foreground) === true;
}

function isOrphaning(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && finalizers?.includes(orphan) === true;
}

function refOf(vertex: Vertex): ObjectRef {
  const { namespace, name } = vertex.object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
