import type { KubeObject } from "@dray/api";
import { StatusError, timeText } from "@dray/api";
import { Event } from "@dray/api/core/v1";
import type { Client } from "../client/client.ts";
import { isNamespaceTerminating } from "../client/namespace-terminating.ts";
import { type Clock, sleep } from "../clock.ts";
import type { Log } from "../log.ts";
import { ConnectionError } from "../transport/exchange.ts";

export interface EventRecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Who reports: `default-scheduler`, `kubelet`, `daemonset-controller`. */
  readonly component: string;
  /** On which node, for those that run on one. */
  readonly host?: string;
}

/** What an event needs to know of the object that it is about. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind"> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion?: string;
  };
};

/** Writes Events behind its caller's back: never blocks, never fails; what cannot be written is logged. */
export interface EventRecorder {
  event(about: EventSubject, type: "Normal" | "Warning", reason: string, message: string): void;
  /** Resolves when all that was recorded has been written or dropped, without waiting for a server that is away. */
  flush(): Promise<void>;
}

/** Events that wait to be written; more are dropped. */
const longestQueue = 1000;
/** Events remembered so that a repetition raises their count. */
const remembered = 4096;
const longestMessage = 1024;
/** Upstream: client-go, tools/record/event.go, maxTriesPerEvent and defaultSleepDuration. */
const maxTries = 12;
const retryDelay = 10_000;

interface Known {
  readonly name: string;
  readonly namespace: string;
  count: number;
}

/**
 * A recorder of core/v1 Events (the same objects read as events.k8s.io/v1). The same event of the same object
 * again raises its count instead of making another, as the components of Kubernetes do.
 */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, log, random, component, host } = options;
  const events = client.resource(Event);
  const known = new Map<string, Known>();
  const queue = new Map<string, { event: Parameters<EventRecorder["event"]>; count: number; at: number }>();
  let writing: Promise<void> | undefined;
  /** Aborted: who ends does not wait for a server that is away. */
  let hurried = new AbortController();

  async function writeAll(): Promise<void> {
    for (;;) {
      const next = queue.entries().next();
      if (next.done) break;
      const [key, { event, count, at }] = next.value;
      queue.delete(key);
      try {
        await writeAgain(key, event, count, at);
      } catch (error) {
        const [about, type, reason, message] = event;
        log[isNamespaceTerminating(error) ? "debug" : "warn"](
          { event: { kind: about.kind, name: about.metadata.name, type, reason, message }, err: error },
          "an event could not be written",
        );
      }
    }
    writing = undefined;
  }

  /** Only where the server gave no answer: what it refuses once it refuses again. */
  async function writeAgain(...record: Parameters<typeof write>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await write(...record);
      } catch (error) {
        if (!(error instanceof ConnectionError) || tries === maxTries || hurried.signal.aborted) throw error;
        log.debug({ err: error, tries }, "an event could not be written yet");
      }
      // The first time at random, so that not all who lost the server come back at once.
      await sleep(clock, retryDelay * (tries === 1 ? random() : 1), hurried.signal);
    }
  }

  async function write(
    key: string,
    [about, type, reason, message]: Parameters<EventRecorder["event"]>,
    count: number,
    at: number,
  ): Promise<void> {
    const time = timeText(at);
    const old = known.get(key);
    if (old !== undefined) {
      try {
        const total = old.count + count;
        await events.patch(old, "strategic", { count: total, lastTimestamp: time });
        old.count = total;
        return;
      } catch (error) {
        // It has outlived its time: begin anew.
        if (!StatusError.is(error, "NotFound")) throw error;
        known.delete(key);
      }
    }
    const { name, namespace = "default", uid, resourceVersion } = about.metadata;
    // Nanoseconds, of which the clock knows the upper part.
    const stamp = BigInt(Math.floor(at)) * 1_000_000n + BigInt(Math.floor(random() * 1e6));
    const created = await events.create({
      metadata: { namespace, name: `${name}.${stamp.toString(16)}` },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name,
        uid,
        ...(about.metadata.namespace === undefined ? {} : { namespace: about.metadata.namespace }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      type,
      reason,
      message,
      source: { component, ...(host === undefined ? {} : { host }) },
      reportingComponent: component,
      reportingInstance: host ?? "",
      firstTimestamp: time,
      lastTimestamp: time,
      count,
    });
    if (known.size >= remembered) known.delete(known.keys().next().value ?? "");
    known.set(key, { name: created.metadata.name, namespace, count });
  }

  return {
    event(about, type, reason, text) {
      // At once: what is remembered of events, and logged, must not grow with their texts.
      const message = text.length > longestMessage ? `${text.slice(0, longestMessage - 3)}...` : text;
      const event: Parameters<EventRecorder["event"]> = [about, type, reason, message];
      const key = [about.metadata.uid, about.kind, about.metadata.name, type, reason, message].join("\0");
      const queued = queue.get(key);
      if (queued !== undefined) {
        queued.count++;
        queued.at = clock.now();
      } else if (queue.size >= longestQueue) {
        log.warn(
          { kind: about.kind, name: about.metadata.name, type, reason, message },
          "an event was dropped",
        );
        return;
      } else queue.set(key, { event, count: 1, at: clock.now() });
      writing ??= Promise.resolve().then(writeAll);
    },
    async flush() {
      hurried.abort();
      await writing;
      hurried = new AbortController();
    },
  };
}
