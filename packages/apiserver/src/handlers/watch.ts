import { apiVersionOf, assertKubeObject, type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse, WatchEventType, WatchFrame, WatchResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { encodeObject, protobufWatchFrame } from "../encoding/codec.ts";
import { partial, resourceForms, tableVersion } from "../encoding/representation.ts";
import { includedOf, tableOf } from "../encoding/table.ts";
import { serverError, statusObject } from "../errors/status.ts";
import { headersOf } from "../http/warnings.ts";
import { convert, prepareConversion } from "../kinds/conversion.ts";
import { modelOf } from "../kinds/models.ts";
import type { Accepted } from "../request/accept.ts";
import { type ListOptions, listOptions } from "../request/options.ts";
import { versionProblem } from "../request/version.ts";
import type { CacheEvent } from "../storage/history.ts";
import { isWebSocket } from "../upgrade/request.ts";
import { type Context, tableOptions } from "./context.ts";
import { waitForRevision } from "./freshness.ts";
import { LargeFrames } from "./large-frames.ts";
import { type Selection, selectionOf } from "./select.ts";

const bookmarkMilliseconds = 60_000;
/** Milliseconds between the last bookmark of a watch and its end. */
const lastBookmarkMilliseconds = 2_000;
/** Initial frames that wait for their watchers. */
const largeFrames = new LargeFrames();
/** Watches without a timeout of their own end after 30 to 60 minutes. */
const defaultTimeoutSeconds = 1800;

/** Handles a watch of a collection (or, on the legacy path, of one object). */
export async function watchObjects(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms, true);
  const options = listOptions(info.query, true);
  const { resourceVersion } = options;
  const problem = versionProblem(resourceVersion);
  if (problem !== undefined) throw serverError(problem);
  const selection = selectionOf(served, options, info.legacyWatch ? (info.parts[1] ?? "") : "");
  const frames = new Frames(context, encoding);
  // Rejected before the first event, not with it.
  if (encoding.as?.kind === "Table") includedOf(tableOptions(context));
  const mediaType =
    encoding.mediaType === "application/vnd.kubernetes.protobuf"
      ? "application/vnd.kubernetes.protobuf;stream=watch"
      : "application/json";
  const watch: WatchResponse = {
    type: "watch",
    status: 200,
    headers: { "cache-control": "no-cache, private", "content-type": mediaType, ...headersOf(context) },
    events: events(context, { cache: registry.cache(served), options, selection, frames }),
  };
  if (!isWebSocket(context.request)) return watch;
  const { watchOverWebSocket } = await import("../upgrade/watch.ts");
  return watchOverWebSocket(context.request, watch, context);
}

interface WatchParts {
  readonly cache: ReturnType<Context["registry"]["cache"]>;
  readonly options: ListOptions;
  readonly selection: Selection;
  readonly frames: Frames;
}

async function* events(
  context: Context,
  { cache, options, selection, frames }: WatchParts,
): AsyncGenerator<WatchFrame> {
  const { info, served, registry } = context;
  const { storage } = registry;
  const prefix =
    served.namespaced && info.namespace !== "" ? `${cache.prefix}${info.namespace}/` : cache.prefix;
  const version = options.resourceVersion === "" ? 0 : Number(options.resourceVersion);
  const initial = options.sendInitialEvents ?? version === 0;
  // This precedes the snapshot: events during the wait are part of the initial state.
  if (initial && version > 0) {
    try {
      await waitForRevision(context, version);
    } catch (error) {
      yield frames.error(error as StatusError);
      return;
    }
  }
  const from = initial || version === 0 ? storage.revision : version;
  const timers = new WatchTimers(context, options);
  const reader = cache.read(from, timers.wake);
  try {
    if (reader === undefined) {
      yield frames.error(
        StatusError.of("Expired", `too old resource version: ${version} (${storage.revision})`),
      );
      return;
    }
    if (initial) {
      // References to the current objects; frames are encoded one by one, as the client takes them.
      const present = [...cache.range(prefix)].map(({ object }) => object);
      await prepareConversion(present, served);
      for (const object of present) {
        if (timers.ended) return;
        if (selection.matches(object)) yield frames.ofInitial(object);
      }
      if (options.allowWatchBookmarks) yield frames.bookmark(from, true);
    }
    context.watch?.initialized();
    while (!timers.ended) {
      const changes = reader.next();
      if (changes === undefined) {
        context.log.warn({ user: context.user.name, resource: served.resource }, "a watcher was cut off");
        return;
      }
      await prepareConversion(objectsOf(changes, prefix), served);
      for (const event of changes) {
        // A watch may begin at a future revision, and then waits for it.
        if (event.revision <= from || !event.key.startsWith(prefix)) continue;
        const frame = frames.ofEvent(event, selection);
        if (frame === undefined) continue;
        if (timers.ended) return;
        yield frame;
      }
      if (changes.length > 0) continue;
      if (timers.takeBookmark()) yield frames.bookmark(Math.max(from, storage.revision), false);
      else await timers.rest();
    }
  } catch (error) {
    // A failed conversion by a webhook ends the watch, as upstream.
    if (!(error instanceof StatusError)) throw error;
    yield frames.error(error);
  } finally {
    reader?.close();
    timers.close();
    context.watch?.ended();
  }
}

/** Returns the objects of events, before and after. */
function objectsOf(changes: readonly CacheEvent[], prefix: string): KubeObject[] {
  return changes
    .filter(({ key }) => key.startsWith(prefix))
    .flatMap(({ object, previous }) => (previous === undefined ? [object] : [object, previous]));
}

/** Wakes a watch when it has work, and ends it: after its timeout, or when the client disconnects. */
class WatchTimers {
  readonly #context: Context;
  readonly #ends: number;
  readonly #cancelEnd: () => void;
  #cancelBookmark = (): void => {};
  #bookmark = false;
  #awake = Promise.withResolvers<void>();
  ended = false;

  constructor(context: Context, options: ListOptions) {
    this.#context = context;
    const { clock, registry, request } = context;
    const seconds = options.timeoutSeconds || defaultTimeoutSeconds + jitter(registry.newId());
    this.#ends = clock.now() + seconds * 1000;
    this.#cancelEnd = clock.after(seconds * 1000, this.#end);
    request.signal.addEventListener("abort", this.#end, { once: true });
    if (request.signal.aborted) this.#end();
    if (options.allowWatchBookmarks) this.#bookmarkLater();
  }

  readonly wake = (): void => this.#awake.resolve();

  readonly #end = (): void => {
    this.ended = true;
    this.wake();
  };

  /** Resolves with the next `wake`; one since the last call counts. */
  async rest(): Promise<void> {
    await this.#awake.promise;
    this.#awake = Promise.withResolvers<void>();
  }

  /** Returns true once whenever a bookmark is due. */
  takeBookmark(): boolean {
    const due = this.#bookmark;
    this.#bookmark = false;
    return due;
  }

  close(): void {
    this.#cancelEnd();
    this.#cancelBookmark();
    this.#context.request.signal.removeEventListener("abort", this.#end);
  }

  /**
   * A bookmark is sent every minute, and shortly before the end, so that the next watch can begin at a recent
   * revision.
   */
  #bookmarkLater(): void {
    const { clock } = this.#context;
    const last = this.#ends - lastBookmarkMilliseconds - clock.now();
    const delay = last > 0 ? Math.min(last, bookmarkMilliseconds) : bookmarkMilliseconds;
    this.#cancelBookmark = clock.after(delay, () => {
      this.#bookmark = true;
      this.wake();
      this.#bookmarkLater();
    });
  }
}

/** Returns 0 to 1799, derived from an id: watches that began together must not all end together. */
function jitter(id: string): number {
  let sum = 0;
  for (let index = 0; index < id.length; index++) sum = (sum * 31 + id.charCodeAt(index)) % 1800;
  return sum;
}

/** Encodes frames in the form that one watcher accepts; watchers with the same form share them. */
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

  /** Returns the frame of a change for this watcher: entering its selection is ADDED, leaving it DELETED. */
  ofEvent(event: CacheEvent, selection: Selection): WatchFrame | undefined {
    const { type, object, previous } = event;
    if (selection.all) return this.#shared(event, type, object);
    const before = previous !== undefined && selection.matches(previous);
    const now = type !== "DELETED" && selection.matches(object);
    if (now) return this.#shared(event, before ? "MODIFIED" : "ADDED", object);
    if (!before) return undefined;
    if (type === "DELETED") return this.#shared(event, "DELETED", object);
    return this.#shared(event, "DELETED", previous, object.metadata.resourceVersion);
  }

  /** Returns the frame of an object that existed before the watch. */
  ofInitial(object: KubeObject): WatchFrame {
    const frame = this.of("ADDED", object);
    // Ages in tables change.
    if (this.#accepted.as?.kind === "Table") return frame;
    return { event: frame.event, bytes: () => largeFrames.bytes(object, this.#form, () => frame.bytes()) };
  }

  /** `version`: the resourceVersion in the frame, if it differs from that of the object. */
  #shared(event: CacheEvent, type: WatchEventType, object: KubeObject, version?: string): WatchFrame {
    // Ages in tables change: they are computed for each watcher.
    if (this.#accepted.as?.kind === "Table") return this.of(type, object, version);
    const key = `${type}|${this.#form}`;
    let frame = event.frames.get(key);
    if (frame === undefined) {
      frame = this.of(type, object, version);
      event.frames.set(key, frame);
    }
    return frame;
  }

  of(type: WatchEventType, stored: KubeObject, version?: string): WatchFrame {
    const { served } = this.#context;
    let object = convert(stored, served.stored, served);
    if (version !== undefined)
      object = { ...object, metadata: { ...object.metadata, resourceVersion: version } };
    return this.#frame(type, this.#shown(object));
  }

  #shown(object: KubeObject): object {
    const { as } = this.#accepted;
    if (as === undefined) return object;
    const { served } = this.#context;
    if (as.kind !== "Table") return partial(object, served, apiVersionOf(as));
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    const options = { ...tableOptions(this.#context), omitColumns: this.#columnsSent };
    this.#columnsSent = true;
    return tableOf({ metadata, items: [object] }, served, options, tableVersion(this.#accepted));
  }

  bookmark(revision: number, initialEventsEnd: boolean): WatchFrame {
    const { served, registry } = this.#context;
    const metadata = {
      resourceVersion: String(revision),
      ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
    };
    const tree = { kind: served.kind, apiVersion: apiVersionOf(served), metadata };
    // An object without any other data has the fields that are never omitted.
    const raw = { tree, duplicates: [], typed: false };
    const { object } = modelOf(served).decode(raw, registry.features.version);
    assertKubeObject(object);
    if (this.#accepted.as === undefined) return this.#frame("BOOKMARK", object);
    return this.#frame("BOOKMARK", this.#shown(object));
  }

  error(error: StatusError): WatchFrame {
    return this.#frame("ERROR", statusObject(error.status));
  }

  #frame(type: WatchEventType, object: object): WatchFrame {
    const event = { type, object: object as KubeObject };
    const protobuf = this.#accepted.mediaType === "application/vnd.kubernetes.protobuf";
    let bytes: Uint8Array | undefined;
    return {
      event,
      bytes() {
        bytes ??= protobuf
          ? protobufWatchFrame(type, object)
          : Buffer.from(`{"type":"${type}","object":${encodeObject(object)}}\n`);
        return bytes;
      },
    };
  }
}
