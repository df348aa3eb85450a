import { type Kind, type KubeObject, StatusError } from "@dray/api";
import type { Client, ResourceClient } from "@dray/client";
import { fromV1, toV1 } from "./conversion.ts";
import { group, type ServedVersion, type Version } from "./served.ts";

/** Reads and writes objects of `kind` as those of v1, in the version that the server has. */
export function convertingResource<T extends KubeObject>(
  client: Client,
  served: ServedVersion,
  kind: Kind<T>,
): ResourceClient<T> {
  /** Calls with the version that the server has; looks again if it has gone. */
  const call = async <R>(run: (inner: ResourceClient<T>, version: Version) => Promise<R>): Promise<R> => {
    const asked = await served.get();
    try {
      return await run(inVersion(client, kind, asked), asked);
    } catch (error) {
      if (!isMissingPath(error)) throw error;
      served.forget();
      const next = await served.get();
      if (next === asked) throw error;
      return run(inVersion(client, kind, next), next);
    }
  };
  const object = (run: (inner: ResourceClient<T>, version: Version) => Promise<T>): Promise<T> =>
    call(async (inner, version) => toV1(await run(inner, version), version));
  return {
    get: (ref, get) => object((inner) => inner.get(ref, get)),
    create: (draft, write) => object((inner, version) => inner.create(fromV1(draft, version), write)),
    update: (changed, write) => object((inner, version) => inner.update(fromV1(changed, version), write)),
    delete: (ref, remove) =>
      call(async (inner, version) => {
        const deleted = await inner.delete(ref, remove);
        return deleted === undefined ? undefined : toV1(deleted, version);
      }),
    list: (query, list) =>
      call(async (inner, version) => {
        const found = await inner.list(query, list);
        return { ...found, items: found.items.map((one) => toV1(one, version)) };
      }),
    deleteCollection: (query, remove) => call((inner) => inner.deleteCollection(query, remove)),
    // Not needed by drivers, and their bodies are not of the kind.
    watch: () => unsupported("watch"),
    patch: () => unsupported("patch"),
    apply: () => unsupported("apply"),
    post: () => unsupported("post"),
  };
}

function inVersion<T extends KubeObject>(client: Client, kind: Kind<T>, version: Version): ResourceClient<T> {
  return client.resource({ ...kind, version }, { ignoreWarnings: version !== "v1" });
}

/** Reports whether the path is unknown: the error of a missing object has its name. */
function isMissingPath(error: unknown): boolean {
  return StatusError.is(error, "NotFound") && !error.status.details?.name;
}

function unsupported(method: string): never {
  throw new Error(`${method} is not for ${group} of several versions`);
}
