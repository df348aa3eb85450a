import type { Features } from "@dray/api";
import {
  type Client,
  type Clock,
  createEventRecorder,
  createWorkQueue,
  type EventRecorder,
  type Log,
  type WorkQueue,
} from "@dray/client";
import type { Informers } from "./informers.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Dependencies of every controller. */
export interface ControllerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Ends the controllers. */
  readonly signal: AbortSignal;
  readonly features: Features;
  readonly informers: Informers;
  readonly metrics: ControllerMetrics;
}

/** A controller that runs. */
export interface Controller {
  /** Resolves when the signal has aborted and the work begun is done. */
  readonly stopped: Promise<void>;
}

/** Work queues of one controller; closed when the signal aborts. */
export interface ControllerQueues {
  /** `name`: label of its metrics, where upstream has the queue with upstream's name. */
  queue(name: string, reconcile: (key: string) => Promise<void>, concurrency?: number): WorkQueue;
  readonly controller: Controller;
}

/** How many keys of one kind are worked on at a time. */
const workers = 5;

export function controllerQueues(context: ControllerContext): ControllerQueues {
  const { clock, log, metrics, signal } = context;
  const queues: WorkQueue[] = [];
  const stopped = new Promise<void>((resolve) => {
    const stop = (): void => {
      void Promise.all(queues.map((queue) => queue.close())).then(() => resolve());
    };
    if (signal.aborted) queueMicrotask(stop);
    else signal.addEventListener("abort", stop, { once: true });
  });
  return {
    queue(name, reconcile, concurrency = workers) {
      const queue = createWorkQueue({
        ...{ name, clock, log, reconcile, concurrency },
        metrics: metrics.workQueues,
      });
      queues.push(queue);
      return queue;
    },
    controller: { stopped },
  };
}

export function recorderOf(context: ControllerContext, component: string): EventRecorder {
  const { client, clock, log, random } = context;
  return createEventRecorder({ client, clock, log, random, component });
}

/** Resolves when all caches are complete: before that no decision may be taken. */
export async function synced(
  context: ControllerContext,
  informers: readonly { start(signal: AbortSignal): Promise<void> }[],
): Promise<void> {
  await Promise.all(informers.map((informer) => informer.start(context.signal)));
}
