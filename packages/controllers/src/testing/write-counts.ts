import type { Kind, KubeObject } from "@dray/api";
import type { Client, ResourceClient } from "@dray/client";

const writes = ["create", "update", "patch", "apply", "delete", "deleteCollection", "post"];

/** Counts the writes of a client, by `verb Kind`. */
export function countingClient(client: Client): {
  readonly client: Client;
  readonly counts: Map<string, number>;
} {
  const counts = new Map<string, number>();
  const counting = <T extends KubeObject>(kind: Kind<T>, resource: ResourceClient<T>): ResourceClient<T> =>
    new Proxy(resource, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        if (typeof name !== "string" || !writes.includes(name)) return method;
        return (...args: unknown[]) => {
          const key = `${name} ${kind.kind}`;
          counts.set(key, (counts.get(key) ?? 0) + 1);
          return method.apply(target, args);
        };
      },
    });
  return {
    counts,
    client: { ...client, resource: (kind, options) => counting(kind, client.resource(kind, options)) },
  };
}
