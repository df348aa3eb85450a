import { setImmediate } from "node:timers/promises";
import { type KubeObject, StatusError } from "@dray/api";
import type { OwnerReference } from "@dray/api/meta/v1";
import type { Informer, ObjectRef } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf } from "../context.ts";
import {
  foreground,
  isForeground,
  isInReach,
  isMeant,
  isOrphaning,
  type OwnerState,
  orphan,
  owned,
  ownerStates,
  placed,
} from "./owner-state.ts";
import type { ServedResource, ServedResources } from "./resources.ts";

/** Maximum number of owners of one object that are asked for in one turn of the event loop. */
const maxOwnersPerTurn = 50;

/** An object as the graph of owners sees it. */
interface Vertex {
  resource: ServedResource;
  object: KubeObject;
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
  /** Dependents of owners of a kind that the server does not have, by that kind. */
  const unmapped = new Map<string, Set<string>>();
  /** What there was of resources that are no more, or will be followed in another version. */
  const unfollowed = new Map<string, readonly KubeObject[]>();
  const recorder = recorderOf(context, "garbage-collector-controller");
  const states = ownerStates(client, resources, ({ metadata }, { apiVersion, kind }) => {
    const key = `${apiVersion}/${kind}`;
    unmapped.set(key, (unmapped.get(key) ?? new Set()).add(metadata.uid));
  });

  const queues = controllerQueues(context);
  const queue = queues.queue("garbagecollector", reconcile, 10);
  // All caches first, so that most owners are known when their dependents are looked at.
  const loading: string[] = [];
  let loaded = false;
  const look = (uid: string): void => {
    if (loaded) queue.add(uid);
    else loading.push(uid);
  };
  resources.onChange(() => {
    for (const [key, uids] of unmapped) {
      const slash = key.lastIndexOf("/");
      if (resources.find(key.slice(0, slash), key.slice(slash + 1)) === undefined) continue;
      unmapped.delete(key);
      for (const uid of uids) look(uid);
    }
    const served = new Set(resources.list.map(keyOf));
    for (const [key, objects] of unfollowed) {
      if (served.has(key)) continue;
      unfollowed.delete(key);
      for (const object of objects) forget(object);
    }
  });
  await resources.follow((resource, informer) => {
    const leave = informer.handle({
      add: (object) => put(resource, object),
      update: (object) => put(resource, object),
      delete: (object) => remove(object),
    });
    const key = keyOf(resource);
    for (const object of unfollowed.get(key) ?? []) if (isNoMore(object, informer)) remove(object);
    unfollowed.delete(key);
    return () => {
      leave();
      unfollowed.set(key, informer.list());
    };
  });
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
      vertices.set(uid, vertex);
      for (const dependent of vertex.dependents) check(vertex, dependent);
    }
    vertex.resource = resource;
    vertex.object = object;
    const owners = new Set(owned(object).map((reference) => reference.uid));
    const former = new Set((before === undefined ? [] : owned(before)).map((reference) => reference.uid));
    for (const old of former) if (!owners.has(old)) unlink(old, vertex);
    let unknown = false;
    for (const owner of owners) {
      dependentsOf(owner).add(vertex);
      const known = vertices.get(owner);
      unknown ||= known === undefined || isForeground(known.object);
      if (known !== undefined && !former.has(owner)) check(known, vertex);
    }
    // Of an owner that is not there (yet), and of one that waits for this very object, a closer look tells.
    if (unknown || isForeground(object) || isOrphaning(object)) look(uid);
    // What no longer blocks its owner lets the owner's deletion go on.
    for (const owner of former) retryForeground(owner);
  }

  /** Looks closer at a dependent that names its owner wrongly, and tells its users of a wrong namespace. */
  function check({ object: owner }: Vertex, { object }: Vertex): void {
    const reference = owned(object).find(({ uid }) => uid === owner.metadata.uid);
    if (reference === undefined) return;
    if (!isInReach(owner, object)) {
      const { apiVersion, kind, name, uid } = reference;
      const { namespace = "" } = placed(object);
      const means = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
      const message = `ownerRef ${means} does not exist in namespace "${namespace}"`;
      const { resourceVersion: _, ...metadata } = placed(object);
      const about = { apiVersion: object.apiVersion, kind: object.kind, metadata };
      recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message);
    } else if (isMeant(owner, reference)) return;
    look(object.metadata.uid);
  }

  function remove(object: KubeObject): void {
    const vertex = vertices.get(object.metadata.uid);
    states.gone(vertex?.object ?? object);
    forget(object);
  }

  /** Takes an object out of the graph that is gone, or that can be followed no more. */
  function forget(object: KubeObject): void {
    const { uid } = object.metadata;
    const vertex = vertices.get(uid);
    vertices.delete(uid);
    for (const [key, uids] of unmapped) if (uids.delete(uid) && uids.size === 0) unmapped.delete(key);
    for (const { uid: owner } of owned(vertex?.object ?? object)) {
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
    for (const [index, reference] of references.entries()) {
      // In one process with the API server its answers come without a turn of the event loop.
      if (index % maxOwnersPerTurn === maxOwnersPerTurn - 1) await setImmediate();
      const state = await ownerState(vertex, reference);
      if (state === "unknown") return;
      if (state === "there") keeping.push(reference);
      else if (state === "leaving") leaving.push(reference);
    }
    if (keeping.length === references.length) return;
    if (keeping.length > 0) {
      await patchOwners(vertex, keeping);
      return;
    }
    // Owners that wait for this one want its own dependents gone, too, before it goes.
    const waits = leaving.length > 0 && vertex.dependents.size > 0;
    let object: KubeObject | undefined = vertex.object;
    // Owners in a circle would wait for each other for ever.
    if (waits && [...vertex.dependents].some((dependent) => isForeground(dependent.object)))
      object = await patchOwners(
        vertex,
        references.map((reference) => ({ ...reference, blockOwnerDeletion: false })),
      );
    if (object === undefined) return;
    const { uid, resourceVersion, finalizers = [] } = object.metadata;
    const propagationPolicy = waits
      ? "Foreground"
      : finalizers.includes(orphan)
        ? "Orphan"
        : finalizers.includes(foreground)
          ? "Foreground"
          : "Background";
    await settle(() =>
      client
        .resource(vertex.resource.kind, { ignoreWarnings: true })
        .delete(refOf(vertex), { propagationPolicy, preconditions: { uid, resourceVersion } }),
    );
  }

  async function ownerState(vertex: Vertex, reference: OwnerReference): Promise<OwnerState> {
    const known = vertices.get(reference.uid)?.object;
    // The caches of different kinds are not in step: only the server knows that an owner is not there.
    if (known === undefined || !isMeant(known, reference) || !isInReach(known, vertex.object))
      return states.ask(vertex.object, reference);
    return isForeground(known) ? "leaving" : "there";
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
    const kept = (vertex.object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== name);
    await patch(vertex, { finalizers: kept });
  }

  function patchOwners(
    vertex: Vertex,
    ownerReferences: readonly OwnerReference[],
  ): Promise<KubeObject | undefined> {
    return patch(vertex, { ownerReferences });
  }

  function patch(vertex: Vertex, metadata: object): Promise<KubeObject | undefined> {
    const { uid, resourceVersion } = vertex.object.metadata;
    return settle(() =>
      client
        .resource(vertex.resource.kind, { ignoreWarnings: true })
        .patch(refOf(vertex), "merge", { metadata: { uid, resourceVersion, ...metadata } }),
    );
  }

  return queues.controller;
}

/** An object that is gone needs nothing more: undefined. */
async function settle<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await write();
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
    return undefined;
  }
}

function keyOf({ kind }: ServedResource): string {
  return `${kind.group}/${kind.resource}`;
}

function isNoMore(object: KubeObject, informer: Informer<KubeObject>): boolean {
  return informer.get(refOf({ object }))?.metadata.uid !== object.metadata.uid;
}

function refOf({ object }: Pick<Vertex, "object">): ObjectRef {
  const { namespace, name } = placed(object);
  return namespace === undefined ? { name } : { namespace, name };
}
