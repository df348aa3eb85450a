import { setImmediate } from "node:timers/promises";
import { type KubeObject, StatusError } from "@dray/api";
import type { OwnerReference } from "@dray/api/meta/v1";
import type { Client, WorkQueue } from "@dray/client";
import { type OwnerGraph, refOf, type Vertex } from "./graph.ts";
import {
  foreground,
  isForeground,
  isInReach,
  isMeant,
  isOrphaning,
  type OwnerState,
  type OwnerStates,
  orphan,
  owned,
} from "./owner-states.ts";

/** Maximum number of owners of one object that are asked for in one turn of the event loop. */
const maxOwnersPerTurn = 50;

/**
 * Decides about one object of the graph, and writes what follows.
 *
 * Upstream: pkg/controller/garbagecollector/garbagecollector.go, attemptToDeleteItem and
 * attemptToOrphanWorker.
 */
export class GarbageProcessor {
  readonly #client: Client;
  readonly #graph: OwnerGraph;
  readonly #states: OwnerStates;
  readonly #queue: () => WorkQueue;

  constructor(client: Client, graph: OwnerGraph, states: OwnerStates, queue: () => WorkQueue) {
    this.#client = client;
    this.#graph = graph;
    this.#states = states;
    this.#queue = queue;
  }

  async reconcile(uid: string): Promise<void> {
    const vertex = this.#graph.get(uid);
    if (vertex === undefined) return;
    if (isOrphaning(vertex.object)) return this.#releaseDependents(vertex);
    if (isForeground(vertex.object)) return this.#finishForeground(vertex);
    // Its own deletion is under way: its dependents come when it is gone.
    if (vertex.object.metadata.deletionTimestamp !== undefined) return;
    await this.#process(vertex);
  }

  /** Deletes the object if no owner is left that keeps it. */
  async #process(vertex: Vertex): Promise<void> {
    const references = owned(vertex.object);
    if (references.length === 0) return;
    const keeping: OwnerReference[] = [];
    const leaving: OwnerReference[] = [];
    for (const [index, reference] of references.entries()) {
      // With the API server in process, responses arrive within one turn of the event loop.
      if (index % maxOwnersPerTurn === maxOwnersPerTurn - 1) await setImmediate();
      const state = await this.#ownerState(vertex, reference);
      if (state === "unknown") return;
      if (state === "there") keeping.push(reference);
      else if (state === "leaving") leaving.push(reference);
    }
    if (keeping.length === references.length) return;
    if (keeping.length > 0) await this.#patchOwners(vertex, keeping);
    else await this.#delete(vertex, leaving.length > 0 && vertex.dependents.size > 0);
  }

  /** Owners that wait for an object want its own dependents gone, too, before it goes. */
  async #delete(vertex: Vertex, waits: boolean): Promise<void> {
    let object: KubeObject | undefined = vertex.object;
    // Owners in a circle would wait for each other for ever.
    if (waits && [...vertex.dependents].some((dependent) => isForeground(dependent.object)))
      object = await this.#patchOwners(
        vertex,
        owned(vertex.object).map((reference) => ({ ...reference, blockOwnerDeletion: false })),
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
    await unlessGone(() =>
      this.#client
        .resource(vertex.resource.kind, { ignoreWarnings: true })
        .delete(refOf(vertex), { propagationPolicy, preconditions: { uid, resourceVersion } }),
    );
  }

  async #ownerState(vertex: Vertex, reference: OwnerReference): Promise<OwnerState> {
    const known = this.#graph.get(reference.uid)?.object;
    // Caches of different kinds are at different revisions: only the server can say that an owner is missing.
    if (known === undefined || !isMeant(known, reference) || !isInReach(known, vertex.object))
      return this.#states.ask(vertex.object, reference);
    return isForeground(known) ? "leaving" : "there";
  }

  /**
   * Removes the finalizer of the owner if no dependent blocks it; otherwise deletes the blocking dependents.
   */
  async #finishForeground(vertex: Vertex): Promise<void> {
    const { uid } = vertex.object.metadata;
    const blocking = [...vertex.dependents].filter(({ object }) =>
      owned(object).some((reference) => reference.uid === uid && reference.blockOwnerDeletion === true),
    );
    if (blocking.length === 0) return this.#dropFinalizer(vertex, foreground);
    for (const dependent of vertex.dependents)
      if (dependent.object.metadata.deletionTimestamp === undefined)
        this.#queue().add(dependent.object.metadata.uid);
  }

  async #releaseDependents(vertex: Vertex): Promise<void> {
    const { uid } = vertex.object.metadata;
    for (const dependent of vertex.dependents) {
      const kept = owned(dependent.object).filter((reference) => reference.uid !== uid);
      await this.#patchOwners(dependent, kept);
    }
    await this.#dropFinalizer(vertex, orphan);
  }

  async #dropFinalizer(vertex: Vertex, name: string): Promise<void> {
    const kept = (vertex.object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== name);
    await this.#patch(vertex, { finalizers: kept });
  }

  #patchOwners(vertex: Vertex, ownerReferences: readonly OwnerReference[]): Promise<KubeObject | undefined> {
    return this.#patch(vertex, { ownerReferences });
  }

  #patch(vertex: Vertex, metadata: object): Promise<KubeObject | undefined> {
    const { uid, resourceVersion } = vertex.object.metadata;
    return unlessGone(() =>
      this.#client
        .resource(vertex.resource.kind, { ignoreWarnings: true })
        .patch(refOf(vertex), "merge", { metadata: { uid, resourceVersion, ...metadata } }),
    );
  }
}

/** An object that is gone needs nothing more: undefined. */
async function unlessGone<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await write();
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
    return undefined;
  }
}
