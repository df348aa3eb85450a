import type { KubeObject } from "@dray/api";
import type { Informer } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf } from "../shared/context.ts";
import type { ServedResource, ServedResources } from "../shared/served-resources.ts";
import { GarbageProcessor } from "./attempt-to-delete.ts";
import { OwnerGraph, refOf } from "./graph.ts";
import { type OwnerStates, ownerStates } from "./owner-states.ts";

/**
 * Deletes objects whose owners are all gone; finishes foreground deletions once the dependents that block
 * them are gone, and orphaning ones once no dependent names the owner any more (metadata.ownerReferences).
 */
export async function startGarbageCollector(
  context: ControllerContext,
  resources: ServedResources,
): Promise<Controller> {
  const { client } = context;
  // All caches first, so that most owners are known when their dependents are processed.
  const loading: string[] = [];
  let loaded = false;
  const look = (uid: string): void => {
    if (loaded) queue.add(uid);
    else loading.push(uid);
  };
  const unmapped = new UnmappedOwners(resources);
  const recorder = recorderOf(context, "garbage-collector-controller");
  const graph = new OwnerGraph({ recorder, look });
  const states = ownerStates(client, resources, ({ metadata }, { apiVersion, kind }) =>
    unmapped.add(metadata.uid, apiVersion, kind),
  );
  const queues = controllerQueues(context);
  const processor = new GarbageProcessor(client, graph, states, () => queue);
  const queue = queues.queue("garbage_collector_attempt_to_delete", (uid) => processor.reconcile(uid), 10);
  await new FollowedObjects({ graph, states, unmapped, look }).follow(resources);
  loaded = true;
  for (const uid of loading) queue.add(uid);
  return queues.controller;
}

/** Dependents of owners of a kind that the server does not have, by that kind. */
class UnmappedOwners {
  readonly #resources: ServedResources;
  readonly #dependents = new Map<string, Set<string>>();

  constructor(resources: ServedResources) {
    this.#resources = resources;
  }

  add(uid: string, apiVersion: string, kind: string): void {
    const key = `${apiVersion}/${kind}`;
    this.#dependents.set(key, (this.#dependents.get(key) ?? new Set()).add(uid));
  }

  forget(uid: string): void {
    for (const [key, uids] of this.#dependents)
      if (uids.delete(uid) && uids.size === 0) this.#dependents.delete(key);
  }

  /** Takes out the dependents of kinds that the server has by now. */
  takeMapped(): string[] {
    const found: string[] = [];
    for (const [key, uids] of this.#dependents) {
      const slash = key.lastIndexOf("/");
      if (this.#resources.find(key.slice(0, slash), key.slice(slash + 1)) === undefined) continue;
      this.#dependents.delete(key);
      for (const uid of uids) found.push(uid);
    }
    return found;
  }
}

interface Followed {
  readonly graph: OwnerGraph;
  readonly states: OwnerStates;
  readonly unmapped: UnmappedOwners;
  look(uid: string): void;
}

/** Keeps the graph in step with the resources that the server has. */
class FollowedObjects {
  readonly #parts: Followed;
  /** Last objects of resources that are gone, or will be followed in another version. */
  readonly #unfollowed = new Map<string, readonly KubeObject[]>();

  constructor(parts: Followed) {
    this.#parts = parts;
  }

  async follow(resources: ServedResources): Promise<void> {
    resources.onChange(() => this.#resourcesChanged(resources));
    await resources.follow((resource, informer) => this.#begin(resource, informer));
  }

  #resourcesChanged(resources: ServedResources): void {
    for (const uid of this.#parts.unmapped.takeMapped()) this.#parts.look(uid);
    const served = new Set(resources.list.map(keyOf));
    for (const [key, objects] of this.#unfollowed) {
      if (served.has(key)) continue;
      this.#unfollowed.delete(key);
      for (const object of objects) this.#forget(object);
    }
  }

  #begin(resource: ServedResource, informer: Informer<KubeObject>): () => void {
    const { graph } = this.#parts;
    const leave = informer.handle({
      add: (object) => graph.put(resource, object),
      update: (object) => graph.put(resource, object),
      delete: (object) => this.#gone(object),
    });
    const key = keyOf(resource);
    for (const object of this.#unfollowed.get(key) ?? []) if (isNoMore(object, informer)) this.#gone(object);
    this.#unfollowed.delete(key);
    return () => {
      leave();
      this.#unfollowed.set(key, informer.list());
    };
  }

  #gone(object: KubeObject): void {
    this.#parts.states.gone(this.#parts.graph.get(object.metadata.uid)?.object ?? object);
    this.#forget(object);
  }

  #forget(object: KubeObject): void {
    this.#parts.unmapped.forget(object.metadata.uid);
    this.#parts.graph.remove(object);
  }
}

function keyOf({ kind }: ServedResource): string {
  return `${kind.group}/${kind.resource}`;
}

function isNoMore(object: KubeObject, informer: Informer<KubeObject>): boolean {
  return informer.get(refOf({ object }))?.metadata.uid !== object.metadata.uid;
}
