import { randomUUID } from "node:crypto";
import { deepFreeze, encodeJSON, type KubeObject, StatusError, timeText } from "@dray/api";
import type { Clock, WatchEvent } from "@dray/client";

/** Path of an object or a collection. */
export interface Path {
  readonly group: string;
  readonly version: string;
  readonly namespace?: string | undefined;
  readonly resource: string;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  readonly resource: string;
}

const letters = "bcdfghjklmnpqrstvwxz2456789";

/** The objects of an API server in memory, with all their changes since its start. */
export class MemoryObjects {
  readonly #clock: Clock;
  readonly #objects = new Map<string, KubeObject>();
  readonly #changes: Change[] = [];
  /** Wake watches that wait for a change. */
  readonly #watchers = new Set<() => void>();
  #revision = 1;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The revision of the last change. */
  get revision(): number {
    return this.#revision;
  }

  /** Ends all watches. */
  close(): void {
    this.#closed = true;
    for (const wake of this.#watchers) wake();
  }

  find(path: Path): KubeObject {
    const found = this.#objects.get(keyOf(path, path.name!));
    if (found !== undefined) return found;
    throw StatusError.of("NotFound", `${path.resource}.${path.group} "${path.name}" not found`, {
      name: path.name!,
      kind: path.resource,
    });
  }

  create(path: Path, body: KubeObject): KubeObject {
    const { name: given, generateName } = body.metadata;
    const suffix = Array.from(
      randomUUID().replaceAll("-", "").slice(0, 5),
      (one) => letters[Number.parseInt(one, 16)],
    );
    const name = given || `${generateName}${suffix.join("")}`;
    const { namespace } = path;
    if (this.#objects.has(keyOf(path, name))) {
      throw StatusError.of("AlreadyExists", `${path.resource}.${path.group} "${name}" already exists`);
    }
    const metadata = {
      ...body.metadata,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: randomUUID(),
      generation: 1,
      creationTimestamp: timeText(this.#clock.now()),
    };
    return this.#change(path, "ADDED", { ...body, metadata } as KubeObject);
  }

  update(path: Path, body: KubeObject): KubeObject {
    const old = this.find(path);
    const sent = body.metadata.resourceVersion;
    if (sent && sent !== old.metadata.resourceVersion) {
      throw StatusError.of("Conflict", `${path.resource} "${path.name}": the object has been modified`);
    }
    const { status } = body as { status?: unknown };
    const next =
      path.subresource === "status"
        ? { ...old, status }
        : { ...body, metadata: { ...old.metadata, ...body.metadata } };
    return this.#change(path, "MODIFIED", next as KubeObject);
  }

  remove(path: Path, body: { preconditions?: { uid?: string; resourceVersion?: string } }): object {
    const old = this.find(path);
    const { uid = old.metadata.uid, resourceVersion = old.metadata.resourceVersion } =
      body.preconditions ?? {};
    if (uid !== old.metadata.uid || resourceVersion !== old.metadata.resourceVersion) {
      throw StatusError.of("Conflict", `${path.resource} "${path.name}": the precondition does not hold`);
    }
    return this.#change(path, "DELETED", old);
  }

  /** The objects of a collection that the query selects. */
  selected(path: Path, query: URLSearchParams): KubeObject[] {
    const matches = matcher(path, query.get("fieldSelector") ?? "");
    const prefix = `${resourceOf(path)}/`;
    return [...this.#objects]
      .filter(([key]) => key.startsWith(prefix))
      .map(([, one]) => one)
      .filter(matches);
  }

  async *watch(path: Path, query: URLSearchParams, signal: AbortSignal) {
    const matches = matcher(path, query.get("fieldSelector") ?? "");
    let seen = Number(query.get("resourceVersion") ?? this.#revision);
    if (query.get("sendInitialEvents") === "true") {
      seen = this.#revision;
      for (const object of this.selected(path, query)) yield frame("ADDED", object);
      yield frame("BOOKMARK", {
        metadata: { resourceVersion: String(seen), annotations: { "k8s.io/initial-events-end": "true" } },
      } as unknown as KubeObject);
    }
    while (!signal.aborted && !this.#closed) {
      const next = this.#changes.find((one) => one.revision > seen);
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            this.#watchers.delete(wake);
            signal.removeEventListener("abort", wake);
            resolve();
          };
          this.#watchers.add(wake);
          signal.addEventListener("abort", wake, { once: true });
        });
        continue;
      }
      seen = next.revision;
      if (next.resource === resourceOf(path) && matches(next.object)) yield frame(next.type, next.object);
    }
  }

  #change(path: Path, type: Change["type"], object: KubeObject): KubeObject {
    const stored = deepFreeze({
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#revision) },
    } as KubeObject);
    const key = keyOf(path, stored.metadata.name);
    if (type === "DELETED") this.#objects.delete(key);
    else this.#objects.set(key, stored);
    this.#changes.push({ revision: this.#revision, type, object: stored, resource: resourceOf(path) });
    for (const wake of this.#watchers) wake();
    return stored;
  }
}

const keyOf = ({ group, resource, namespace = "" }: Path, name: string): string =>
  `${group}/${resource}/${namespace}/${name}`;
const resourceOf = ({ group, resource }: Path): string => `${group}/${resource}`;

function frame(type: WatchEvent<KubeObject>["type"], object: KubeObject) {
  const event = { type, object };
  return { event, bytes: () => Buffer.from(encodeJSON(event)) };
}

/** `a.b=c,d.e=`: a field that is absent is the empty text. */
function matcher({ namespace }: Path, selector: string): (object: KubeObject) => boolean {
  const terms =
    selector === "" ? [] : selector.split(",").map((term) => term.split(/==?/) as [string, string]);
  const valueAt = (object: KubeObject, path: string): unknown =>
    path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    terms.every(([path, value]) => String(valueAt(object, path) ?? "") === value);
}
