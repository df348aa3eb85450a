import type { Clock } from "../base/clock.ts";
import { exponentialBuckets, type MetricsRegistry } from "./registry.ts";

const buckets = exponentialBuckets(1e-8, 10, 10);

/**
 * Metrics of all work queues of a component, by the name of the queue. Upstream: component-base,
 * metrics/prometheus/workqueue/metrics.go; client-go, util/workqueue/metrics.go.
 */
export class WorkQueueMetrics {
  readonly #queues = new Set<QueueMetrics>();
  readonly #counts: QueueCounts;

  constructor(registry: MetricsRegistry) {
    const name = ["name"];
    this.#gauge(registry, "depth", "Current depth of workqueue", (queues) =>
      sum(queues.map((queue) => queue.depth())),
    );
    const adds = registry.counter(
      "workqueue_adds_total",
      "[BETA] Total number of adds handled by workqueue",
      name,
    );
    const queued = registry.histogram(
      "workqueue_queue_duration_seconds",
      "[BETA] How long in seconds an item stays in workqueue before being requested.",
      buckets,
      name,
    );
    const work = registry.histogram(
      "workqueue_work_duration_seconds",
      "[BETA] How long in seconds processing an item from workqueue takes.",
      buckets,
      name,
    );
    this.#gauge(
      registry,
      "unfinished_work_seconds",
      "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
      (queues) => sum(agesOf(queues)),
    );
    this.#gauge(
      registry,
      "longest_running_processor_seconds",
      "How many seconds has the longest running processor for workqueue been running.",
      (queues) => agesOf(queues).reduce((oldest, age) => Math.max(oldest, age), 0),
    );
    const retries = registry.counter(
      "workqueue_retries_total",
      "[BETA] Total number of retries handled by workqueue",
      name,
    );
    this.#counts = {
      add: (queue) => adds.add([queue]),
      retry: (queue) => retries.add([queue]),
      queued: (queue, seconds) => queued.observe(seconds, [queue]),
      worked: (queue, seconds) => work.observe(seconds, [queue]),
    };
  }

  /** `depth`: number of keys that wait. Two queues of one name are counted together. */
  queue(name: string, clock: Clock, depth: () => number): QueueMetrics {
    const queue = new QueueMetrics({
      name,
      clock,
      depth,
      counts: this.#counts,
      closed: () => this.#queues.delete(queue),
    });
    this.#queues.add(queue);
    return queue;
  }

  /** `read`: the value of all queues of one name. */
  #gauge(
    registry: MetricsRegistry,
    name: string,
    help: string,
    read: (queues: readonly QueueMetrics[]) => number,
  ): void {
    registry.gauge(`workqueue_${name}`, `[BETA] ${help}`, ["name"], () => {
      const names = new Set([...this.#queues].map((queue) => queue.name));
      return [...names].map((queue) => {
        const queues = [...this.#queues].filter(({ name }) => name === queue);
        return [[queue], read(queues)] as const;
      });
    });
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const agesOf = (queues: readonly QueueMetrics[]): number[] => queues.flatMap((queue) => queue.ages());

/** Metrics that are counted as they happen, by the name of the queue. Times in seconds. */
interface QueueCounts {
  add(queue: string): void;
  retry(queue: string): void;
  queued(queue: string, seconds: number): void;
  worked(queue: string, seconds: number): void;
}

interface QueueMetricsOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly depth: () => number;
  readonly counts: QueueCounts;
  closed(): void;
}

/** Metrics of one queue. */
export class QueueMetrics {
  readonly name: string;
  readonly depth: () => number;
  readonly #options: QueueMetricsOptions;
  readonly #added = new Map<string, number>();
  readonly #started = new Map<string, number>();

  constructor(options: QueueMetricsOptions) {
    this.name = options.name;
    this.depth = options.depth;
    this.#options = options;
  }

  /** A key begins to wait. */
  add(key: string): void {
    const { counts, clock } = this.#options;
    counts.add(this.name);
    if (!this.#added.has(key)) this.#added.set(key, clock.now());
  }

  /** A key begins to be reconciled. */
  get(key: string): void {
    const { counts, clock } = this.#options;
    const now = clock.now();
    this.#started.set(key, now);
    const added = this.#added.get(key);
    if (added === undefined) return;
    this.#added.delete(key);
    counts.queued(this.name, (now - added) / 1000);
  }

  /** A key has been reconciled. */
  done(key: string): void {
    const { counts, clock } = this.#options;
    const started = this.#started.get(key);
    if (started === undefined) return;
    this.#started.delete(key);
    counts.worked(this.name, (clock.now() - started) / 1000);
  }

  /** A key is added after a delay. */
  retry(): void {
    this.#options.counts.retry(this.name);
  }

  /** Seconds since the start of each key that is being reconciled. */
  ages(): number[] {
    const now = this.#options.clock.now();
    return [...this.#started.values()].map((started) => (now - started) / 1000);
  }

  close(): void {
    this.#options.closed();
  }
}
