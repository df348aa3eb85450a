import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse, WatchEventType, WatchFrame } from "@dray/client";
import { encodeJSON, protobufWatchFrame } from "../codec.ts";
import { convert } from "../registry/conversion/index.ts";
import { partial, tableVersion, watchForms } from "../representation.ts";
import type { Accepted } from "../request/accept.ts";
import { type ListOptions, listOptions } from "../request/options.ts";
import { serverError, statusObject } from "../response.ts";
import type { CacheEvent } from "../storage/cache.ts";
import { tableOf } from "../table.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { reach } from "./freshness.ts";
import { type Selection, selectionOf } from "./select.ts";

/** A watcher that is so many events behind is cut off; it will list again. */
const queueLimit = 10_000;
const bookmarkMilliseconds = 60_000;
/** Watches without a timeout of their own end after 30 to 60 minutes. */
const defaultTimeoutSeconds = 1800;

/** A watch of a collection (or, on the old path, of one object). */
export async function watchObjects(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, watchForms, { stream: true });
  const options = listOptions(info.query, true);
  const { resourceVersion } = options;
  if (resourceVersion !== "" && !/^\d+$/.test(resourceVersion)) {
    const quoted = JSON.stringify(resourceVersion);
    throw serverError(
      `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
    );
  }
  const selection = selectionOf(served, options, info.legacyWatch ? (info.parts[1] ?? "") : "");
  const frames = new Frames(context, wanted);
  const mediaType =
    wanted.mediaType === "application/vnd.kubernetes.protobuf" && wanted.as === undefined
      ? "application/vnd.kubernetes.protobuf;stream=watch"
      : "application/json";
  return {
    type: "watch",
    status: 200,
    headers: { "cache-control": "no-cache, private", "content-type": mediaType, ...headersOf(context) },
    events: events(context, registry.cache(served), options, selection, frames),
  };
}

type Cache = ReturnType<Context["registry"]["cache"]>;

async function* events(
  context: Context,
  cache: Cache,
  options: ListOptions,
  selection: Selection,
  frames: Frames,
): AsyncGenerator<WatchFrame> {
  const { info, served, registry, clock } = context;
  const { signal } = context.request;
  const { storage } = registry;
  const prefix =
    served.namespaced && info.namespace !== "" ? `${cache.prefix}${info.namespace}/` : cache.prefix;
  const queue = new Queue();
  const version = options.resourceVersion === "" ? 0 : Number(options.resourceVersion);
  const initial = options.sendInitialEvents ?? version === 0;
  // Before anything is taken down: what comes during the wait is part of the state that the watch begins with.
  if (initial && version > 0) {
    try {
      await reach(context, version);
    } catch (error) {
      yield frames.error(error as StatusError);
      return;
    }
  }
  let from = initial || version === 0 ? storage.revision : version;
  const take = (event: CacheEvent): void => {
    if (event.revision <= from || !event.key.startsWith(prefix)) return;
    const frame = frames.ofEvent(event, selection);
    if (frame) queue.push(frame);
  };
  const cancels = [cache.subscribe(take)];
  try {
    if (initial) {
      from = storage.revision;
      for (const { key, object } of cache.range(prefix)) {
        void key;
        if (selection.matches(object)) queue.push(frames.of("ADDED", object));
      }
      if (options.sendInitialEvents && options.allowWatchBookmarks) queue.push(frames.bookmark(from, true));
    } else if (version > 0) {
      const past = cache.history(version);
      if (past === undefined) {
        yield frames.error(
          StatusError.of("Expired", `too old resource version: ${version} (${storage.revision})`),
        );
        return;
      }
      for (const event of past) take(event);
    }
    const seconds = options.timeoutSeconds || defaultTimeoutSeconds + spread(registry.newId());
    cancels.push(clock.after(seconds * 1000, () => queue.end()));
    const aborted = (): void => queue.end();
    signal.addEventListener("abort", aborted, { once: true });
    cancels.push(() => signal.removeEventListener("abort", aborted));
    if (signal.aborted) return;
    if (options.allowWatchBookmarks) {
      const again = (): void => {
        queue.push(frames.bookmark(storage.revision, false));
        cancels[index] = clock.after(bookmarkMilliseconds, again);
      };
      const index = cancels.length;
      cancels.push(clock.after(bookmarkMilliseconds, again));
    }
    yield* queue;
    if (queue.overflowed) {
      context.log.warn({ user: context.user.name, resource: served.resource }, "a slow watcher was cut off");
    }
  } finally {
    for (const cancel of cancels) cancel();
  }
}

/** 0 to 1799, from an id: so that watches that began together do not all end together. */
function spread(id: string): number {
  let sum = 0;
  for (let index = 0; index < id.length; index++) sum = (sum * 31 + id.charCodeAt(index)) % 1800;
  return sum;
}

/** Frames waiting for a consumer; ends when told to, or when the consumer falls too far behind. */
class Queue implements AsyncIterable<WatchFrame> {
  #frames: WatchFrame[] = [];
  #ended = false;
  #wake: (() => void) | undefined;
  overflowed = false;

  push(frame: WatchFrame): void {
    if (this.#ended) return;
    if (this.#frames.length >= queueLimit) {
      this.overflowed = true;
      this.end();
      return;
    }
    this.#frames.push(frame);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchFrame> {
    while (true) {
      if (this.#frames.length > 0) {
        const frames = this.#frames;
        this.#frames = [];
        for (const frame of frames) yield frame;
        continue;
      }
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}

/** Makes frames in the form that one watcher accepts; watchers of the same form share them. */
class Frames {
  readonly #context: Context;
  readonly #accepted: Accepted;
  readonly #form: string;
  #columnsSent = false;

  constructor(context: Context, accepted: Accepted) {
    this.#context = context;
    this.#accepted = accepted;
    const { served } = context;
    this.#form = [
      served.group,
      served.version,
      accepted.mediaType,
      accepted.as?.kind,
      accepted.as?.version,
    ].join("|");
  }

  /** The frame of a change as this watcher sees it: entering its selection is ADDED, leaving it DELETED. */
  ofEvent(event: CacheEvent, selection: Selection): WatchFrame | undefined {
    const { type, object, previous } = event;
    if (selection.all) return this.#shared(event, type, object);
    const before = previous !== undefined && selection.matches(previous);
    const now = type !== "DELETED" && selection.matches(object);
    if (now) return this.#shared(event, before ? "MODIFIED" : "ADDED", object);
    if (!before) return undefined;
    if (type === "DELETED") return this.#shared(event, "DELETED", object);
    const { resourceVersion } = object.metadata;
    return this.#shared(event, "DELETED", {
      ...previous,
      metadata: { ...previous.metadata, resourceVersion },
    });
  }

  #shared(event: CacheEvent, type: WatchEventType, object: KubeObject): WatchFrame {
    // Ages in tables pass: they are made for each watcher.
    if (this.#accepted.as?.kind === "Table") return this.of(type, object);
    const key = `${type}|${this.#form}`;
    let frame = event.frames.get(key);
    if (frame === undefined) {
      frame = this.of(type, object);
      event.frames.set(key, frame);
    }
    return frame;
  }

  of(type: WatchEventType, stored: KubeObject): WatchFrame {
    const { served } = this.#context;
    const object = convert(stored, served.stored, served);
    return this.#frame(type, this.#shown(object));
  }

  #shown(object: KubeObject): object {
    const { as } = this.#accepted;
    if (as === undefined) return object;
    if (as.kind !== "Table") return partial(object, apiVersionOf(as));
    const { served } = this.#context;
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    const options = { ...tableOptions(this.#context), omitColumns: this.#columnsSent };
    this.#columnsSent = true;
    return tableOf([object], metadata, served, options, tableVersion(this.#accepted));
  }

  bookmark(revision: number, initialEventsEnd: boolean): WatchFrame {
    const { served } = this.#context;
    const metadata = {
      resourceVersion: String(revision),
      ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
    };
    const object = { kind: served.kind, apiVersion: apiVersionOf(served), metadata } as unknown as KubeObject;
    if (this.#accepted.as === undefined) return this.#frame("BOOKMARK", object);
    return this.#frame("BOOKMARK", this.#shown(object));
  }

  error(error: StatusError): WatchFrame {
    return this.#frame("ERROR", statusObject(error.status));
  }

  #frame(type: WatchEventType, object: object): WatchFrame {
    const event = { type, object: object as KubeObject };
    const protobuf =
      this.#accepted.mediaType === "application/vnd.kubernetes.protobuf" && this.#accepted.as === undefined;
    let bytes: Uint8Array | undefined;
    return {
      event,
      bytes() {
        bytes ??= protobuf ? protobufWatchFrame(type, object) : Buffer.from(`${encodeJSON(event)}\n`);
        return bytes;
      },
    };
  }
}
