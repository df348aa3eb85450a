import type { Kind, KubeObject } from "@dray/api";
import type { Client, Informer, InformerOptions } from "@dray/client";
import { toV1 } from "./conversion.ts";
import type { ServedVersion } from "./served.ts";

/** Watches objects of `kind` in the version that the server has, and hands them out as those of v1. */
export function convertingInformer<T extends KubeObject>(
  client: Client,
  served: ServedVersion,
  kind: Kind<T>,
  options: InformerOptions<T> | undefined,
): Informer<T> {
  const handlers = new Map<object, () => void>();
  let inner: Informer<T> | undefined;
  let convert = (object: T): T => object;
  const attach = (of: Informer<T>, handler: Parameters<Informer<T>["handle"]>[0]): (() => void) =>
    of.handle({
      add: (one) => handler.add?.(convert(one)),
      update: (one, old) => handler.update?.(convert(one), convert(old)),
      delete: (one) => handler.delete?.(convert(one)),
    });
  const outer: Informer<T> = {
    async start(signal) {
      const found = await served.wait(signal);
      if (found === undefined) return;
      // Memo: an object that several handlers receive is converted once.
      const cache = new WeakMap<T, T>();
      convert = (object) => {
        const before = cache.get(object) ?? toV1(object, found);
        cache.set(object, before);
        return before;
      };
      inner = client.informer(
        { ...kind, version: found },
        { ...options, ignoreWarnings: found !== "v1" || options?.ignoreWarnings === true },
      );
      for (const handler of handlers.keys()) handlers.set(handler, attach(inner, handler));
      await inner.start(signal);
    },
    get synced() {
      return inner?.synced ?? false;
    },
    get resourceVersion() {
      return inner?.resourceVersion;
    },
    get(ref) {
      const object = inner?.get(ref);
      return object && convert(object);
    },
    list: () => inner?.list().map(convert) ?? [],
    byIndex: (index, key) => inner?.byIndex(index, key).map(convert) ?? [],
    handle(handler) {
      handlers.set(handler, inner === undefined ? () => {} : attach(inner, handler));
      return () => {
        handlers.get(handler)?.();
        handlers.delete(handler);
      };
    },
    until: (condition) => inner?.until(condition) ?? Promise.resolve(),
  };
  return outer;
}
