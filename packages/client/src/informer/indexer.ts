import type { KubeObject } from "@dray/api";
import { keyOf } from "../client/object-ref.ts";
import type { Log } from "../log.ts";
import type { InformerHandler, InformerOptions } from "./informer.ts";

/** Objects by key, with indexes, telling handlers of every change. */
export class Cache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: readonly {
    readonly name: string;
    readonly keys: (object: T) => readonly string[];
    readonly found: Map<string, Map<string, T>>;
  }[];
  readonly #handlers = new Set<InformerHandler<T>>();
  readonly #log: Log;
  #list: readonly T[] | undefined;

  constructor(indexes: InformerOptions<T>["indexes"], log: Log) {
    this.#log = log;
    this.#indexes = Object.entries(indexes ?? {}).map(([name, keys]) => ({ name, keys, found: new Map() }));
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
    return [...(index.found.get(key)?.values() ?? [])];
  }

  handle(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.list()) this.#tell(() => handler.add?.(object));
    return () => this.#handlers.delete(handler);
  }

  put(object: T): void {
    const key = keyOf(object.metadata);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#list = undefined;
    this.#reindex(key, old, object);
    for (const handler of this.#handlers)
      this.#tell(() => (old === undefined ? handler.add?.(object) : handler.update?.(object, old)));
  }

  remove(object: T): void {
    const key = keyOf(object.metadata);
    const old = this.#objects.get(key);
    if (old === undefined) return;
    this.#objects.delete(key);
    this.#list = undefined;
    this.#reindex(key, old, undefined);
    for (const handler of this.#handlers) this.#tell(() => handler.delete?.(object));
  }

  /** Takes over a whole new state, told as the changes that lead to it. */
  replace(objects: ReadonlyMap<string, T>): void {
    for (const [key, old] of [...this.#objects]) {
      const now = objects.get(key);
      // Another uid: deleted and made again while we did not look.
      if (now === undefined || now.metadata.uid !== old.metadata.uid) this.remove(old);
    }
    for (const [key, object] of objects)
      if (this.#objects.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.put(object);
  }

  /** Tells all handlers of every object, as of an update that changed nothing. */
  resync(): void {
    for (const object of this.list())
      for (const handler of this.#handlers) this.#tell(() => handler.update?.(object, object));
  }

  #reindex(key: string, old: T | undefined, object: T | undefined): void {
    for (const { keys, found } of this.#indexes) {
      for (const value of old === undefined ? [] : keys(old)) {
        const entries = found.get(value);
        entries?.delete(key);
        if (entries?.size === 0) found.delete(value);
      }
      for (const value of object === undefined ? [] : keys(object)) {
        const entries = found.get(value);
        if (entries === undefined) found.set(value, new Map([[key, object as T]]));
        else entries.set(key, object as T);
      }
    }
  }

  /** A handler that throws breaks its contract; the others still hear of the change. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error({ err: error }, "an informer's handler has thrown");
    }
  }
}
