import type { KubeObject } from "@dray/api";
import type { EventRecorder, ObjectRef } from "@dray/client";
import type { ServedResource } from "../shared/served-resources.ts";
import { isForeground, isInReach, isMeant, isOrphaning, owned, placed } from "./owner-states.ts";

/** An object as the graph of owners sees it. */
export interface Vertex {
  resource: ServedResource;
  object: KubeObject;
  /** Objects that name this one as an owner. */
  readonly dependents: Set<Vertex>;
}

export interface GraphOptions {
  readonly recorder: EventRecorder;
  /** Called with the uid of an object whose owners or dependents have to be judged. */
  look(uid: string): void;
}

/** The graph of owners and dependents (metadata.ownerReferences), updated from the caches. */
export class OwnerGraph {
  readonly #options: GraphOptions;
  readonly #vertices = new Map<string, Vertex>();
  /** Dependents of owners that have not been seen (yet). */
  readonly #waiting = new Map<string, Set<Vertex>>();

  constructor(options: GraphOptions) {
    this.#options = options;
  }

  get(uid: string): Vertex | undefined {
    return this.#vertices.get(uid);
  }

  put(resource: ServedResource, object: KubeObject): void {
    const { uid } = object.metadata;
    const before = this.#vertices.get(uid)?.object;
    const vertex = this.#vertices.get(uid) ?? this.#add(resource, object);
    vertex.resource = resource;
    vertex.object = object;
    const owners = new Set(owned(object).map((reference) => reference.uid));
    const former = new Set((before === undefined ? [] : owned(before)).map((reference) => reference.uid));
    for (const old of former) if (!owners.has(old)) this.#unlink(old, vertex);
    let unknown = false;
    for (const owner of owners) {
      this.#dependentsOf(owner).add(vertex);
      const known = this.#vertices.get(owner);
      unknown ||= known === undefined || isForeground(known.object);
      if (known !== undefined && !former.has(owner)) this.#check(known, vertex);
    }
    // An owner that is missing, or that waits for this object, is checked by the queue.
    if (unknown || isForeground(object) || isOrphaning(object)) this.#options.look(uid);
    // A dependent that no longer blocks its owner may end the owner's deletion.
    for (const owner of former) this.#retryForeground(owner);
  }

  #add(resource: ServedResource, object: KubeObject): Vertex {
    const { uid } = object.metadata;
    const vertex: Vertex = { resource, object, dependents: this.#waiting.get(uid) ?? new Set() };
    this.#waiting.delete(uid);
    this.#vertices.set(uid, vertex);
    for (const dependent of vertex.dependents) this.#check(vertex, dependent);
    return vertex;
  }

  /** Removes an object that is deleted, or whose resource is no longer followed. */
  remove(object: KubeObject): void {
    const { uid } = object.metadata;
    const vertex = this.#vertices.get(uid);
    this.#vertices.delete(uid);
    for (const { uid: owner } of owned(vertex?.object ?? object)) {
      if (vertex !== undefined) this.#unlink(owner, vertex);
      this.#retryForeground(owner);
    }
    if (vertex === undefined || vertex.dependents.size === 0) return;
    this.#waiting.set(uid, vertex.dependents);
    for (const dependent of vertex.dependents) this.#options.look(dependent.object.metadata.uid);
  }

  #dependentsOf(uid: string): Set<Vertex> {
    const vertex = this.#vertices.get(uid);
    if (vertex !== undefined) return vertex.dependents;
    const set = this.#waiting.get(uid) ?? new Set();
    this.#waiting.set(uid, set);
    return set;
  }

  /** Queues a dependent whose reference is wrong, and records an event for a wrong namespace. */
  #check({ object: owner }: Vertex, { object }: Vertex): void {
    const reference = owned(object).find(({ uid }) => uid === owner.metadata.uid);
    if (reference === undefined) return;
    if (!isInReach(owner, object)) {
      const { apiVersion, kind, name, uid } = reference;
      const { namespace = "" } = placed(object);
      const means = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
      const message = `ownerRef ${means} does not exist in namespace "${namespace}"`;
      const { resourceVersion: _, ...metadata } = placed(object);
      const about = { apiVersion: object.apiVersion, kind: object.kind, metadata };
      this.#options.recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message);
    } else if (isMeant(owner, reference)) return;
    this.#options.look(object.metadata.uid);
  }

  #unlink(owner: string, vertex: Vertex): void {
    const set = this.#vertices.get(owner)?.dependents ?? this.#waiting.get(owner);
    set?.delete(vertex);
    if (set?.size === 0) this.#waiting.delete(owner);
  }

  #retryForeground(owner: string): void {
    const vertex = this.#vertices.get(owner);
    if (vertex !== undefined && isForeground(vertex.object)) this.#options.look(owner);
  }
}

export function refOf({ object }: Pick<Vertex, "object">): ObjectRef {
  const { namespace, name } = placed(object);
  return namespace === undefined ? { name } : { namespace, name };
}
