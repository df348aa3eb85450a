import { once } from "node:events";
import { type Draft, type Kind, type KubeObject, StatusError } from "@dray/api";
import type { Client, GetOptions, Informer, InformerHandler, ObjectRef, ResourceClient } from "@dray/client";

/** An API server of a few lines, for tests that need to stand between driver and server. */
export interface FakeApi {
  readonly client: Client;
  /** Stores an object, as another client would. */
  put<T extends KubeObject>(kind: Kind<T>, object: Draft<T>): T;
  list<T extends KubeObject>(kind: Kind<T>): T[];
  remove(kind: Kind, ref: ObjectRef): void;
  /** Called before each write of our client; it may throw. */
  before: (verb: string, object: KubeObject) => void;
  /** Called before each get of our client; it may throw. */
  beforeGet: () => void;
  /** Promise that a get of our client waits for. */
  delayGet: (ref: ObjectRef) => Promise<void> | undefined;
  /** Changes an object as the server would before it stores it. */
  admit: (object: KubeObject) => void;
  /** Writes of our client so far: `create resourceslices name`. */
  readonly writes: string[];
}

type Follower = (type: "add" | "update" | "delete", key: string, object: KubeObject) => void;

const keyOf = (kind: Kind, ref: ObjectRef): string => `${kind.resource}/${ref.namespace ?? ""}/${ref.name}`;

export function createFakeApi(): FakeApi {
  const objects = new Map<string, KubeObject>();
  const followers = new Set<Follower>();
  let revision = 100;
  let names = 0;
  const writes: string[] = [];

  const store = <T extends KubeObject>(kind: Kind<T>, draft: Draft<T>): T => {
    const meta = draft.metadata;
    const name = meta.name ?? `${meta.generateName}${String(++names).padStart(5, "x")}`;
    const key = keyOf(kind, { ...meta, name });
    const old = objects.get(key);
    const object = structuredClone({
      apiVersion: `${kind.group}/${kind.version}`,
      kind: kind.kind,
      ...draft,
      metadata: {
        ...meta,
        name,
        uid: old?.metadata.uid ?? meta.uid ?? `uid-${++revision}`,
        resourceVersion: String(++revision),
        creationTimestamp: "2026-01-01T00:00:00Z",
      },
    }) as unknown as T;
    api.admit(object);
    objects.set(key, object);
    for (const follow of followers) follow(old === undefined ? "add" : "update", key, object);
    return object;
  };

  const erase = (kind: Kind, ref: ObjectRef): void => {
    const key = keyOf(kind, ref);
    const object = objects.get(key);
    if (object === undefined) throw StatusError.of("NotFound", `${kind.resource} "${ref.name}" not found`);
    objects.delete(key);
    for (const follow of followers) follow("delete", key, object);
  };

  const all = <T extends KubeObject>(kind: Kind<T>): T[] =>
    [...objects].filter(([key]) => key.startsWith(`${kind.resource}/`)).map(([, object]) => object as T);

  const resource = <T extends KubeObject>(kind: Kind<T>): ResourceClient<T> =>
    ({
      async get(ref: ObjectRef, { signal }: GetOptions = {}) {
        api.beforeGet();
        const delay = api.delayGet(ref);
        if (delay !== undefined) {
          await Promise.race([delay, signal && once(signal, "abort")]);
          signal?.throwIfAborted();
        }
        const object = objects.get(keyOf(kind, ref));
        if (object === undefined)
          throw StatusError.of("NotFound", `${kind.resource} "${ref.name}" not found`);
        return object as T;
      },
      async create(object: Draft<T>) {
        api.before("create", object as unknown as KubeObject);
        const stored = store(kind, object);
        writes.push(`create ${kind.resource} ${stored.metadata.name}`);
        return stored;
      },
      async update(object: T) {
        api.before("update", object);
        const old = objects.get(keyOf(kind, object.metadata));
        if (old?.metadata.resourceVersion !== object.metadata.resourceVersion) {
          throw StatusError.of("Conflict", "the object has been modified");
        }
        writes.push(`update ${kind.resource} ${object.metadata.name}`);
        return store(kind, object as unknown as Draft<T>);
      },
      async delete(ref: ObjectRef) {
        writes.push(`delete ${kind.resource} ${ref.name}`);
        erase(kind, ref);
        return undefined;
      },
    }) as unknown as ResourceClient<T>;

  const text = async (): Promise<string> => JSON.stringify({ versions: [{ version: "v1" }] });

  const api: FakeApi = {
    client: { resource, informer: fakeInformer(objects, followers), text, close() {} } as unknown as Client,
    put: store,
    list: all,
    remove: erase,
    before: () => {},
    beforeGet: () => {},
    delayGet: () => undefined,
    admit: () => {},
    writes,
  };
  return api;
}

function fakeInformer(objects: ReadonlyMap<string, KubeObject>, followers: Set<Follower>) {
  return <T extends KubeObject>(kind: Kind<T>): Informer<T> => {
    const handlers: InformerHandler<T>[] = [];
    const cache = new Map<string, T>();
    return {
      async start() {
        for (const [key, object] of objects) {
          if (!key.startsWith(`${kind.resource}/`)) continue;
          cache.set(key, object as T);
          for (const handler of handlers) handler.add?.(object as T);
        }
        followers.add((type, key, object) => {
          if (!key.startsWith(`${kind.resource}/`)) return;
          // Later than the response to the write, as over a network.
          setTimeout(() => {
            const old = cache.get(key);
            if (type === "delete") cache.delete(key);
            else cache.set(key, object as T);
            for (const handler of handlers) {
              if (type === "update") handler.update?.(object as T, old ?? (object as T));
              else handler[type]?.(object as T);
            }
          }, 5);
        });
      },
      synced: true,
      get: (ref: ObjectRef) => cache.get(keyOf(kind, ref)),
      list: () => [...cache.values()],
      byIndex: () => [],
      handle(handler: InformerHandler<T>) {
        handlers.push(handler);
        return () => {};
      },
    } as unknown as Informer<T>;
  };
}
