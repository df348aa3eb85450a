import { randomUUID } from "node:crypto";
import type { Features } from "@dray/api";
import { type Clock, ConnectionError, createClient, type Log, type Transport } from "@dray/client";
import { type Scheduler, type SchedulerOptions, startScheduler } from "@dray/scheduler";

export interface RunningScheduler {
  readonly scheduler: Scheduler;
  /** Ends it as a signal would: work in progress is finished. */
  stop(): Promise<void>;
  /** Ends it as a crash would: from now on it reads and writes nothing. */
  kill(): void;
  /**
   * From now on the server does what it is asked, but the answers to such requests are lost; undefined: no
   * more.
   */
  loseAnswers(which: ((method: string, url: string) => boolean) | undefined): void;
  /** Called after each request that the server has handled: the response arrives when it is done. */
  beforeAnswers(run: (method: string, url: string) => Promise<void>): void;
  /** Holds back events of watches of claims until the returned function is called. */
  holdClaims(): () => void;
}

/**
 * Starts a scheduler over a transport that can lose or delay answers. `before` is called before each answer.
 */
export async function startTestScheduler(
  surroundings: {
    readonly transport: Transport;
    readonly clock: Clock;
    readonly log: Log;
    readonly features: Features;
  },
  before: ((method: string, url: string) => Promise<void>) | undefined,
  more: Partial<SchedulerOptions>,
): Promise<RunningScheduler> {
  const { transport: inner, clock, log, features } = surroundings;
  const stop = new AbortController();
  let dead = false;
  let lost: ((method: string, url: string) => boolean) | undefined;
  let held: Promise<void> | undefined;
  let release = (): void => {};
  const never = new Promise<never>(() => {});
  async function* delayed<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const event of events) {
      await held;
      yield event;
    }
  }
  const transport: Transport = {
    async request(request) {
      if (dead) return never;
      const response = await inner.request(request);
      await before?.(request.method, request.url);
      if (dead) return never;
      if (response.type === "watch" && request.url.includes("/resourceclaims"))
        return { ...response, events: delayed(response.events) };
      if (lost?.(request.method, request.url)) throw new ConnectionError("the answer was lost");
      return response;
    },
    close: () => inner.close(),
  };
  const scheduler = await startScheduler({
    client: createClient({ transport, userAgent: "kube-scheduler", clock, log }),
    clock,
    log,
    newId: randomUUID,
    random: Math.random,
    features,
    ...more,
    signal: stop.signal,
  });
  return {
    scheduler,
    async stop() {
      stop.abort();
      release();
      if (!dead) await scheduler.stopped;
    },
    kill() {
      dead = true;
      stop.abort();
    },
    loseAnswers(which) {
      lost = which;
    },
    beforeAnswers(run) {
      before = run;
    },
    holdClaims() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      release = resolve;
      return resolve;
    },
  };
}
