import { decodeJSON, type Kind, type KubeObject, StatusError } from "@dray/api";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, type Clock, type Informer, type ResourceClient, sleep } from "@dray/client";

/** Versions of resource.k8s.io that have drivers' objects, the best first. */
const versions = ["v1", "v1beta2", "v1beta1"] as const;
type Version = (typeof versions)[number];

const group = "resource.k8s.io";

type Plain = Readonly<Record<string, unknown>>;

/** Milliseconds between two tries to find out what the server has, for an informer. */
const retryDelay = 2000;

const wrapped = new WeakMap<Client, Client>();

/**
 * `client`, whose ResourceSlices and ResourceClaims are those of resource.k8s.io/v1 whatever the server has: 1.34 and newer
 * v1, 1.33 v1beta2, 1.32 v1beta1 (and a cluster may have switched any of them off). v1beta2 has the fields of v1;
 * v1beta1 has those of devices under `basic`, and no `exactly` in requests. Other kinds are left alone.
 * Upstream: k8s.io/dynamic-resource-allocation/client
 */
export function withResourceVersions(client: Client, clock: Clock): Client {
  const known = wrapped.get(client);
  if (known !== undefined) return known;
  let served: Promise<Version> | undefined;
  const version = (): Promise<Version> => {
    served ??= findVersion(client).catch((error) => {
      served = undefined;
      throw error;
    });
    return served;
  };

  function resource<T extends KubeObject>(
    kind: Kind<T>,
    options?: { ignoreWarnings?: boolean },
  ): ResourceClient<T> {
    if (!isOurs(kind)) return client.resource(kind, options);
    /** Calls with the version that the server has; looks again if it has gone. */
    const call = async <R>(run: (inner: ResourceClient<T>, version: Version) => Promise<R>): Promise<R> => {
      const asked = await version();
      try {
        return await run(at(kind, asked), asked);
      } catch (error) {
        if (!isMissingPath(error)) throw error;
        served = undefined;
        const next = await version();
        if (next === asked) throw error;
        return run(at(kind, next), next);
      }
    };
    const object = (run: (inner: ResourceClient<T>, version: Version) => Promise<T>): Promise<T> =>
      call(async (inner, version) => toV1(await run(inner, version), version));
    return {
      get: (ref, get) => object((inner) => inner.get(ref, get)),
      create: (draft, write) =>
        object((inner, version) => inner.create(fromV1(draft as unknown as T, version) as never, write)),
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

  const at = <T extends KubeObject>(kind: Kind<T>, version: Version): ResourceClient<T> =>
    client.resource({ ...kind, version }, { ignoreWarnings: version !== "v1" });

  function informer<T extends KubeObject>(...[kind, options]: Parameters<typeof client.informer<T>>) {
    if (!isOurs(kind)) return client.informer(kind, options);
    const handlers = new Map<object, () => void>();
    let inner: Informer<T> | undefined;
    let convert = (object: T): T => object;
    const attach = (handler: Parameters<Informer<T>["handle"]>[0]): (() => void) =>
      inner!.handle({
        add: (one) => handler.add?.(convert(one)),
        update: (one, old) => handler.update?.(convert(one), convert(old)),
        delete: (one) => handler.delete?.(convert(one)),
      });
    const outer: Informer<T> = {
      async start(signal) {
        const found = await versionInTime(signal);
        if (found === undefined) return;
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
        for (const handler of handlers.keys()) handlers.set(handler, attach(handler));
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
        handlers.set(handler, inner === undefined ? () => {} : attach(handler));
        return () => {
          handlers.get(handler)?.();
          handlers.delete(handler);
        };
      },
      until: (condition) => inner?.until(condition) ?? Promise.resolve(),
    };
    return outer;
  }

  async function versionInTime(signal: AbortSignal): Promise<Version | undefined> {
    while (!signal.aborted) {
      try {
        return await version();
      } catch (error) {
        if (error instanceof NoResourceApiError) throw error;
        await sleep(clock, retryDelay, signal);
      }
    }
    return undefined;
  }

  const outer: Client = {
    resource,
    informer,
    text: (...request) => client.text(...request),
    stream: (...request) => client.stream(...request),
    close: () => client.close(),
  };
  wrapped.set(client, outer);
  wrapped.set(outer, outer);
  return outer;
}

/** The server has no version of the API that a driver can work with. */
export class NoResourceApiError extends Error {
  override readonly name = "NoResourceApiError";
}

async function findVersion(client: Client): Promise<Version> {
  let found: string[];
  try {
    const answer = decodeJSON(await client.text("GET", `/apis/${group}`)) as {
      versions?: { version: string }[];
    };
    found = (answer.versions ?? []).map(({ version }) => version);
  } catch (error) {
    // Who may not ask gets by as long as the server is new enough.
    if (StatusError.is(error, "Forbidden")) return "v1";
    if (!StatusError.is(error, "NotFound")) throw error;
    found = [];
  }
  const best = versions.find((version) => found.includes(version));
  if (best !== undefined) return best;
  throw new NoResourceApiError(
    `the API server has ${found.length === 0 ? `no ${group}` : `${group}/${found.join(", ")}`}; a driver needs one of ${versions.join(", ")} (Kubernetes 1.32 or newer with DynamicResourceAllocation on)`,
  );
}

function isOurs(kind: Kind): boolean {
  return kind === (ResourceSlice as Kind) || kind === (ResourceClaim as Kind);
}

/** Of an object that is missing the server says the name. */
function isMissingPath(error: unknown): boolean {
  return StatusError.is(error, "NotFound") && !error.status.details?.name;
}

function unsupported(method: string): never {
  throw new Error(`${method} is not for ${group} of several versions`);
}

export function toV1<T extends KubeObject>(object: T, from: Version): T {
  if (from === "v1") return object;
  const v1 = { ...object, apiVersion: `${group}/v1` };
  return from === "v1beta2" ? v1 : changed(v1, nest, ({ name, basic }) => ({ name, ...(basic as Plain) }));
}

export function fromV1<T extends KubeObject>(object: T, to: Version): T {
  if (to === "v1") return object;
  const old = { ...object, apiVersion: `${group}/${to}` };
  return to === "v1beta2" ? old : changed(old, flatten, ({ name, ...basic }) => ({ name, basic }));
}

function nest({ name, firstAvailable, ...exactly }: Plain): Plain {
  return firstAvailable === undefined ? { name, exactly } : { name, firstAvailable };
}

function flatten({ exactly, ...rest }: Plain): Plain {
  return { ...rest, ...(exactly as Plain | undefined) };
}

/** `object` with its requests or devices changed, whichever it has. */
function changed<T extends KubeObject>(
  object: T,
  request: (request: Plain) => Plain,
  device: (device: Plain) => Plain,
): T {
  const { spec } = object as unknown as { spec?: Plain & { devices?: unknown } };
  const devices = spec?.devices;
  if (Array.isArray(devices)) return { ...object, spec: { ...spec, devices: devices.map(device) } };
  const requests = (devices as { requests?: Plain[] } | undefined)?.requests;
  if (requests === undefined) return object;
  return {
    ...object,
    spec: { ...spec, devices: { ...(devices as Plain), requests: requests.map(request) } },
  };
}
