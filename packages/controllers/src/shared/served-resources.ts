import { apiVersionOf, type Kind, type KubeObject } from "@dray/api";
import { createRestMapper, type DiscoveredKind, type Informer } from "@dray/client";
import type { ControllerContext } from "./context.ts";

/**
 * Milliseconds between two reads of discovery, which cannot be watched; upstream's garbage collector has the
 * same.
 */
const resyncInterval = 30_000;
/** Milliseconds after which controllers begin although a cache is incomplete: its server may be away. */
const syncTimeout = 30_000;
/** Resources whose objects define other resources. */
const definingResources = new Set([
  "apiextensions.k8s.io/customresourcedefinitions",
  "apiregistration.k8s.io/apiservices",
]);

/** A kind that the server has and that can be listed, watched and deleted. */
export interface ServedResource {
  readonly kind: Kind;
  /** Whether a whole collection can be deleted at once. */
  readonly deleteCollection: boolean;
}

/**
 * Called with a resource and its complete cache. Returns what to do when the server no longer has the
 * resource.
 */
export type ResourceFollower = (resource: ServedResource, informer: Informer<KubeObject>) => () => void;

/** All kinds whose objects can be deleted, with caches, as they come and go: custom resources among them. */
export interface ServedResources {
  /** As of the last read of discovery; of each resource the version that the server prefers. */
  readonly list: readonly ServedResource[];
  /** Versions of aggregated API servers that could not be read, as of the last read of discovery. */
  readonly unread: readonly string[];
  /** The kind that an owner reference means, in that version. */
  find(apiVersion: string, kind: string): Kind | undefined;
  /** Reads discovery, beginning now or later. Rejects as requests do; then the last state stays. */
  refresh(): Promise<void>;
  /**
   * Calls the follower for each resource that there is and each that comes. Events are left out: they own
   * nothing, are owned by nothing, and come in great number. Resolves when it has been called for all that
   * there are now, or after 30 seconds.
   */
  follow(follower: ResourceFollower): Promise<void>;
  /** Calls the handler after each change of discovery. */
  onChange(handler: () => void): void;
}

interface Followed {
  readonly resource: ServedResource;
  readonly informer: Informer<KubeObject>;
  readonly stop: AbortController;
  readonly leave: (() => void)[];
  ready: boolean;
  complete: Promise<void>;
}

/**
 * Follows discovery until the context ends. Rejects as requests do if the server cannot say what it serves.
 */
export async function servedResources(context: ControllerContext): Promise<ServedResources> {
  const resources = new DiscoveredResources(context);
  await resources.start();
  return resources;
}

class DiscoveredResources implements ServedResources {
  list: readonly ServedResource[] = [];
  unread: readonly string[] = [];
  readonly #context: ControllerContext;
  /** By group, version, resource and scope. */
  readonly #followed = new Map<string, Followed>();
  readonly #followers = new Set<ResourceFollower>();
  readonly #handlers = new Set<() => void>();
  /** By apiVersion and kind. */
  #kinds = new Map<string, Kind>();
  #reading: Promise<void> | undefined;
  /** The read that begins after the one in progress. */
  #next: Promise<void> | undefined;
  #cancelResync = (): void => {};

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  async start(): Promise<void> {
    const { signal } = this.#context;
    const changed = (): void => this.#refreshLater();
    this.#followers.add(({ kind }, informer) =>
      definingResources.has(`${kind.group}/${kind.resource}`)
        ? informer.handle({ add: changed, update: changed, delete: changed })
        : () => {},
    );
    await this.refresh();
    if (!signal.aborted) this.#resync();
    signal.addEventListener("abort", () => this.#cancelResync(), { once: true });
  }

  find(apiVersion: string, kind: string): Kind | undefined {
    return this.#kinds.get(`${apiVersion}/${kind}`);
  }

  onChange(handler: () => void): void {
    this.#handlers.add(handler);
  }

  refresh(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    // The result of the read in progress may be older than this call.
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    return this.#next;
  }

  async follow(follower: ResourceFollower): Promise<void> {
    const { clock, log } = this.#context;
    this.#followers.add(follower);
    const entries = [...this.#followed.values()];
    for (const { ready, resource, informer, leave } of entries)
      if (ready) leave.push(follower(resource, informer));
    let cancel = (): void => {};
    const timeout = new Promise<void>((resolve) => {
      cancel = clock.after(syncTimeout, () => {
        log.warn({}, "not every cache is complete: going on without");
        resolve();
      });
    });
    await Promise.race([Promise.all(entries.map(({ complete }) => complete)), timeout]);
    cancel();
  }

  async #read(): Promise<void> {
    const { client, signal } = this.#context;
    const mapper = createRestMapper(client);
    const discovered = await mapper.kinds();
    const unread = await mapper.unread();
    if (signal.aborted) return;
    this.unread = unread;
    const before = this.#identity();
    this.#kinds = new Map(discovered.map((kind) => [`${apiVersionOf(kind)}/${kind.kind}`, kind]));
    this.list = deletable(discovered);
    if (this.#identity() === before) return;
    const wanted = new Map(this.list.filter(isCached).map((resource) => [identity(resource), resource]));
    for (const [key, entry] of this.#followed) if (!wanted.has(key)) this.#end(key, entry);
    for (const [key, resource] of wanted) if (!this.#followed.has(key)) this.#begin(key, resource);
    for (const handler of this.#handlers) handler();
  }

  /** Equal as long as discovery has the same kinds and resources. */
  #identity(): string {
    return [...this.#kinds.keys(), ...this.list.map(identity)].join();
  }

  #begin(key: string, resource: ServedResource): void {
    const { informers, signal } = this.#context;
    const stop = new AbortController();
    const informer = informers.of(resource.kind);
    const entry: Followed = {
      resource,
      informer,
      stop,
      leave: [],
      ready: false,
      complete: Promise.resolve(),
    };
    this.#followed.set(key, entry);
    entry.complete = informer.start(AbortSignal.any([signal, stop.signal])).then(() => {
      if (signal.aborted || stop.signal.aborted) return;
      entry.ready = true;
      for (const follower of this.#followers) entry.leave.push(follower(resource, informer));
    });
  }

  #end(key: string, { resource, stop, leave }: Followed): void {
    this.#followed.delete(key);
    stop.abort();
    this.#context.informers.forget(resource.kind);
    for (const left of leave) left();
  }

  /** Reads discovery, and logs a failure: the next resync tries again. */
  #refreshLater(): void {
    const { log, signal } = this.#context;
    if (signal.aborted) return;
    this.refresh().catch((err) => {
      if (!signal.aborted) log.warn({ err }, "cannot read what the server serves: trying again");
    });
  }

  #resync(): void {
    this.#cancelResync = this.#context.clock.after(resyncInterval, () => {
      this.#refreshLater();
      this.#resync();
    });
  }
}

/** Of each resource whose objects can be listed, watched and deleted the version that the server prefers. */
function deletable(kinds: readonly DiscoveredKind[]): ServedResource[] {
  const found = new Map<string, ServedResource>();
  for (const kind of kinds) {
    const key = `${kind.group}/${kind.resource}`;
    if (found.has(key) || !["delete", "list", "watch"].every((verb) => kind.verbs.includes(verb))) continue;
    found.set(key, { kind, deleteCollection: kind.verbs.includes("deletecollection") });
  }
  return [...found.values()];
}

function isCached({ kind }: ServedResource): boolean {
  return kind.resource !== "events";
}

function identity({ kind, deleteCollection }: ServedResource): string {
  const { group, version, resource, namespaced } = kind;
  return [group, version, resource, kind.kind, namespaced, deleteCollection].join("/");
}
