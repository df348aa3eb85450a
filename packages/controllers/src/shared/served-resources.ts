import type { Kind, KubeObject } from "@dray/api";
import { apiVersionOf } from "@dray/api";
import { createRestMapper, type DiscoveredKind, type Informer } from "@dray/client";
import type { ControllerContext } from "./context.ts";

/** Milliseconds between two looks at discovery, which cannot be watched (as upstream's garbage collector has it). */
const resync = 30_000;
/** Milliseconds after which controllers begin although a cache is not complete: its kind may be out of order. */
const longestSync = 30_000;
/** Resources whose objects make other resources. */
const defining = new Set([
  "apiextensions.k8s.io/customresourcedefinitions",
  "apiregistration.k8s.io/apiservices",
]);

/** A kind that the server has and that can be listed, watched and deleted. */
export interface ServedResource {
  readonly kind: Kind;
  /** Whether a whole collection can be deleted at once. */
  readonly deleteCollection: boolean;
}

/** Called with a resource and its complete cache. Returns what to do when the server no longer has the resource. */
export type ResourceFollower = (resource: ServedResource, informer: Informer<KubeObject>) => () => void;

/** All kinds whose objects can be deleted, with caches, as they come and go: custom resources among them. */
export interface ServedResources {
  /** As of the last look at discovery; of each resource the version that the server prefers. */
  readonly list: readonly ServedResource[];
  /** The versions of other servers, as of the last look, that could not be asked what they have. */
  readonly unread: readonly string[];
  /** The kind that an owner reference means, in that version. */
  find(apiVersion: string, kind: string): Kind | undefined;
  /** Looks at discovery, later than now. Rejects as requests do; then what was known stands. */
  refresh(): Promise<void>;
  /**
   * Calls the follower for each resource that there is and each that comes. Events are left out: they own nothing, are
   * owned by nothing, and come in great number. Resolves when it has been called for all that there are now, or after
   * 30 seconds.
   */
  follow(follower: ResourceFollower): Promise<void>;
  /** Calls the handler whenever discovery has told something new. */
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

/** Follows discovery until the context ends. Rejects as requests do if the server cannot say what it serves. */
export async function servedResources(context: ControllerContext): Promise<ServedResources> {
  const { client, clock, informers, log, signal } = context;
  const followed = new Map<string, Followed>();
  const followers = new Set<ResourceFollower>();
  const handlers = new Set<() => void>();
  let kinds = new Map<string, Kind>();
  let list: readonly ServedResource[] = [];
  let unread: readonly string[] = [];
  let reading: Promise<void> | undefined;
  let following: Promise<void> | undefined;

  async function read(): Promise<void> {
    const mapper = createRestMapper(client);
    const discovered = await mapper.kinds();
    const notRead = await mapper.unread();
    if (signal.aborted) return;
    unread = notRead;
    const before = [...kinds.keys(), ...list.map(identity)].join();
    kinds = new Map(discovered.map((kind) => [`${apiVersionOf(kind)}/${kind.kind}`, kind]));
    list = deletable(discovered);
    if ([...kinds.keys(), ...list.map(identity)].join() === before) return;
    const wanted = new Map(list.filter(isCached).map((resource) => [identity(resource), resource]));
    for (const [key, entry] of followed) if (!wanted.has(key)) drop(key, entry);
    for (const [key, resource] of wanted) if (!followed.has(key)) begin(key, resource);
    for (const handler of handlers) handler();
  }

  function begin(key: string, resource: ServedResource): void {
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
    followed.set(key, entry);
    entry.complete = informer.start(AbortSignal.any([signal, stop.signal])).then(() => {
      if (signal.aborted || stop.signal.aborted) return;
      entry.ready = true;
      for (const follower of followers) entry.leave.push(follower(resource, informer));
    });
  }

  function drop(key: string, { resource, stop, leave }: Followed): void {
    followed.delete(key);
    stop.abort();
    informers.forget(resource.kind);
    for (const left of leave) left();
  }

  function refresh(): Promise<void> {
    if (reading === undefined) {
      reading = read().finally(() => {
        reading = undefined;
      });
      return reading;
    }
    // What is being read may be older than the question.
    following ??= reading
      .catch(() => {})
      .then(() => {
        following = undefined;
        return refresh();
      });
    return following;
  }

  function look(): void {
    if (signal.aborted) return;
    refresh().catch((err) => {
      if (!signal.aborted) log.warn({ err }, "cannot read what the server serves: trying again");
    });
  }

  let cancel = (): void => {};
  const lookAgain = (): void => {
    cancel = clock.after(resync, () => {
      look();
      lookAgain();
    });
  };

  followers.add(({ kind }, informer) =>
    defining.has(`${kind.group}/${kind.resource}`)
      ? informer.handle({ add: look, update: look, delete: look })
      : () => {},
  );
  await refresh();
  if (!signal.aborted) lookAgain();
  signal.addEventListener("abort", () => cancel(), { once: true });

  return {
    get list() {
      return list;
    },
    get unread() {
      return unread;
    },
    find: (apiVersion, kind) => kinds.get(`${apiVersion}/${kind}`),
    refresh,
    async follow(follower) {
      followers.add(follower);
      const entries = [...followed.values()];
      for (const { ready, resource, informer, leave } of entries)
        if (ready) leave.push(follower(resource, informer));
      let enough = (): void => {};
      const late = new Promise<void>((resolve) => {
        enough = clock.after(longestSync, () => {
          log.warn({}, "not every cache is complete: going on without");
          resolve();
        });
      });
      await Promise.race([Promise.all(entries.map(({ complete }) => complete)), late]);
      enough();
    },
    onChange: (handler) => {
      handlers.add(handler);
    },
  };
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
