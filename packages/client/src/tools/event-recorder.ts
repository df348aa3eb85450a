import { type KubeObject, StatusError, timeText } from "@dray/api";
import { Event } from "@dray/api/core/v1";
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Client } from "../client/client.ts";
import { isNamespaceTerminating } from "../rest/namespace-terminating.ts";
import type { ResourceClient } from "../rest/resource-client.ts";
import { ConnectionError } from "../transport/exchange.ts";
import { EventCorrelator, type EventDraft, remember } from "./event-correlator.ts";

export interface EventRecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** The reporting component: `default-scheduler`, `kubelet`, `daemonset-controller`. */
  readonly component: string;
  /** The node of a component that runs on one. */
  readonly host?: string;
}

/** The object that an event is about. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind"> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    /** Absent for an object that does not exist yet. */
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
};

/**
 * Writes Events in the background: never blocks and never fails. Events that cannot be written are logged.
 */
export interface EventRecorder {
  event(about: EventSubject, type: "Normal" | "Warning", reason: string, message: string): void;
  /**
   * Resolves when all recorded events are written or dropped. Does not wait for a server that does not
   * respond.
   */
  flush(): Promise<void>;
}

/** Maximum number of events that wait to be written; more are dropped. */
const maxQueueLength = 1000;
/** Maximum length of a message in characters. */
const maxMessageLength = 1024;
/** Upstream: client-go, tools/record/event.go, maxTriesPerEvent and defaultSleepDuration. */
const maxTries = 12;
const retryDelay = 10_000;

interface QueuedEvent {
  /** With the message of the last occurrence. */
  event: EventDraft & { readonly about: EventSubject };
  count: number;
  /** Time of the last occurrence. */
  time: number;
}

interface WrittenEvent {
  readonly name: string;
  readonly namespace: string;
  message: string;
  count: number;
}

/**
 * Makes a recorder of core/v1 Events (served as events.k8s.io/v1, too). A repetition of an event of the same
 * object increments its count, similar events are combined, and their number is limited, as in the Kubernetes
 * components.
 */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const recorder = new QueueingRecorder(options);
  return {
    event: (about, type, reason, message) => recorder.event(about, type, reason, message),
    flush: () => recorder.flush(),
  };
}

class QueueingRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #events: ResourceClient<Event>;
  readonly #correlator: EventCorrelator;
  readonly #written = new Map<string, WrittenEvent>();
  readonly #queue = new Map<string, QueuedEvent>();
  #writing: Promise<void> | undefined;
  /** Aborted by `flush`: writes are not retried. */
  #flushing = new AbortController();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#events = options.client.resource(Event);
    this.#correlator = new EventCorrelator(options.clock);
  }

  event(about: EventSubject, type: "Normal" | "Warning", reason: string, text: string): void {
    const { clock, log } = this.#options;
    // Cut here, so that queue and log stay small.
    const draft = { about, type, reason, message: shortened(text) };
    const { key, message: combined, isAllowed } = this.#correlator.correlate(draft);
    const message = shortened(combined);
    const event = { ...draft, message };
    const queued = this.#queue.get(key);
    if (queued !== undefined) {
      queued.count++;
      queued.time = clock.now();
      queued.event = event;
    } else if (!isAllowed) {
      // Counted with the next one that is written.
      const written = this.#written.get(key);
      if (written !== undefined) written.count++;
      return;
    } else if (this.#queue.size >= maxQueueLength) {
      log.warn(
        { kind: about.kind, name: about.metadata.name, type, reason, message },
        "an event was dropped",
      );
      return;
    } else this.#queue.set(key, { event, count: 1, time: clock.now() });
    this.#writing ??= Promise.resolve().then(() => this.#writeAll());
  }

  async flush(): Promise<void> {
    this.#flushing.abort();
    await this.#writing;
    this.#flushing = new AbortController();
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      const next = this.#queue.entries().next();
      if (next.done) break;
      const [key, queued] = next.value;
      this.#queue.delete(key);
      try {
        await this.#writeWithRetries(key, queued);
      } catch (error) {
        const { about, type, reason, message } = queued.event;
        this.#options.log[isNamespaceTerminating(error) ? "debug" : "warn"](
          { event: { kind: about.kind, name: about.metadata.name, type, reason, message }, err: error },
          "an event could not be written",
        );
      }
    }
    this.#writing = undefined;
  }

  /** Retries only without a response: a refusal would be repeated. */
  async #writeWithRetries(key: string, queued: QueuedEvent): Promise<void> {
    const { clock, log, random } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(key, queued);
      } catch (error) {
        const isLast = tries === maxTries || this.#flushing.signal.aborted;
        if (!(error instanceof ConnectionError) || isLast) throw error;
        log.debug({ err: error, tries }, "an event could not be written yet");
      }
      // The first delay is random, so that the clients of a server do not return all at once.
      await sleep(clock, retryDelay * (tries === 1 ? random() : 1), this.#flushing.signal);
    }
  }

  async #write(key: string, { event, count, time }: QueuedEvent): Promise<void> {
    const written = this.#written.get(key);
    if (written !== undefined && (await this.#increment(written, event.message, count, time))) return;
    this.#written.delete(key);
    const created = await this.#create(event, count, time);
    const { name, namespace = "default" } = created.metadata;
    remember(this.#written, key, { name, namespace, message: event.message, count });
  }

  /** Returns false if the server has deleted the event because it expired. */
  async #increment(written: WrittenEvent, message: string, count: number, time: number): Promise<boolean> {
    const total = written.count + count;
    try {
      await this.#events.patch(written, "strategic", {
        count: total,
        lastTimestamp: timeText(time),
        ...(message !== written.message && { message }),
      });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      return false;
    }
    written.count += count;
    written.message = message;
    return true;
  }

  #create(
    { about, type, reason, message }: QueuedEvent["event"],
    count: number,
    time: number,
  ): Promise<Event> {
    const { random, component, host } = this.#options;
    const { name, namespace = "default", uid, resourceVersion } = about.metadata;
    // In nanoseconds; the clock has milliseconds.
    const suffix = BigInt(Math.floor(time)) * 1_000_000n + BigInt(Math.floor(random() * 1e6));
    const timestamp = timeText(time);
    return this.#events.create({
      metadata: { namespace, name: `${name}.${suffix.toString(16)}` },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name,
        ...(uid === undefined ? {} : { uid }),
        ...(about.metadata.namespace === undefined ? {} : { namespace: about.metadata.namespace }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      type,
      reason,
      message,
      source: { component, ...(host === undefined ? {} : { host }) },
      reportingComponent: component,
      reportingInstance: host ?? "",
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
      count,
    });
  }
}

const shortened = (text: string): string =>
  text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 3)}...` : text;
