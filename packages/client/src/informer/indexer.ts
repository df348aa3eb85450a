import type { KubeObject } from "@dray/api";
import type { Log } from "../base/log.ts";
import { keyOf } from "../rest/object-ref.ts";
import type { InformerHandler, InformerOptions } from "./informer.ts";

/**
 * Objects by key, with indexes. Notifies handlers of every change. Upstream: client-go, tools/cache.Indexer.
 */
export class Indexer<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: readonly {
    readonly name: string;
    readonly keys: (object: T) => readonly string[];
    readonly entries: Map<string, Map<string, T>>;
  }[];
  readonly #handlers = new Set<InformerHandler<T>>();
  readonly #log: Log;
  #list: readonly T[] | undefined;

  constructor(indexes: InformerOptions<T>["indexes"], log: Log) {
    this.#log = log;
    this.#indexes = Object.entries(indexes ?? {}).map(([name, keys]) => ({
      name,
      keys,
      entries: new Map(),
    }));
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    this.#list ??= Object.freeze([...this.#objects.values()]);
    return this.#list;
  }

  byIndex(name: string, key: string): readonly T[] {
    const index = this.#indexes.find((candidate) => candidate.name === name);
    if (index === undefined) {
      const known = this.#indexes.map((candidate) => candidate.name).join(", ");
      throw new TypeError(`no index ${name}: this informer has ${known || "none"}`);
    }
    return [...(index.entries.get(key)?.values() ?? [])];
  }

  handle(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.list()) this.#notify(object, () => handler.add?.(object));
    return () => this.#handlers.delete(handler);
  }

  put(object: T): void {
    const key = keyOf(object.metadata);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#list = undefined;
    this.#reindex(key, old, object);
    for (const handler of this.#handlers)
      this.#notify(object, () => (old === undefined ? handler.add?.(object) : handler.update?.(object, old)));
  }

  remove(object: T): void {
    const key = keyOf(object.metadata);
    const old = this.#objects.get(key);
    if (old === undefined) return;
    this.#objects.delete(key);
    this.#list = undefined;
    this.#reindex(key, old, undefined);
    for (const handler of this.#handlers) this.#notify(object, () => handler.delete?.(object));
  }

  /** Replaces the whole state. Handlers are notified of the differences. */
  replace(objects: ReadonlyMap<string, T>): void {
    for (const [key, old] of [...this.#objects]) {
      const now = objects.get(key);
      // Another uid: deleted and created again in the meantime.
      if (now === undefined || now.metadata.uid !== old.metadata.uid) this.remove(old);
    }
    for (const [key, object] of objects)
      if (this.#objects.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.put(object);
  }

  /** Calls all handlers for every object, as for an update without a change. */
  resync(): void {
    for (const object of this.list())
      for (const handler of this.#handlers) this.#notify(object, () => handler.update?.(object, object));
  }

  #reindex(key: string, old: T | undefined, object: T | undefined): void {
    for (const { keys, entries } of this.#indexes) {
      for (const value of this.#keysOf(keys, old)) {
        const objects = entries.get(value);
        objects?.delete(key);
        if (objects?.size === 0) entries.delete(value);
      }
      for (const value of this.#keysOf(keys, object)) {
        const objects = entries.get(value);
        if (objects === undefined) entries.set(value, new Map([[key, object as T]]));
        else objects.set(key, object as T);
      }
    }
  }

  /** An object for which an index throws is not in it: the informer goes on. */
  #keysOf(keys: (object: T) => readonly string[], object: T | undefined): readonly string[] {
    if (object === undefined) return [];
    try {
      return keys(object);
    } catch (error) {
      this.#log.error({ object: keyOf(object.metadata), err: error }, "an informer's index has thrown");
      return [];
    }
  }

  /** A handler that throws does not keep the others from being notified. */
  #notify(object: T, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error({ object: keyOf(object.metadata), err: error }, "an informer's handler has thrown");
    }
  }
}
