import type { Pod } from "@dray/api/core/v1";
import { type Clock, createWorkQueue, type Log } from "@dray/client";
import type { AgentMetrics, WorkType } from "../metrics/agent-metrics.ts";
import type { PodEnd } from "../types/pod-end.ts";
import { PodWorker } from "./worker.ts";
import type { WorkerContext } from "./worker-context.ts";

export interface PodWorkersOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AgentMetrics;
  /** The newest object of a pod; undefined if it is gone. */
  pod(uid: string): Pod | undefined;
  /** Called for each new worker. */
  context(): WorkerContext;
}

/** A pod that was admitted and has not ended. */
export interface RunningPod {
  readonly pod: Pod;
  /** Begins to end the pod. Resolves when none of its containers runs and its status has been written. */
  end(end: PodEnd): Promise<void>;
}

/** The workers of all pods of a node. Upstream: pkg/kubelet/pod_workers.go. */
export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #workers = new Map<string, PodWorker>();
  readonly #queue: ReturnType<typeof createWorkQueue>;

  constructor(options: PodWorkersOptions) {
    const { nodeName, clock, log } = options;
    this.#options = options;
    this.#queue = createWorkQueue({
      name: `kubelet ${nodeName}`,
      clock,
      log,
      // One worker for each pod, so that a slow driver delays no other pod.
      concurrency: Number.POSITIVE_INFINITY,
      baseDelay: 1000,
      maxDelay: 60_000,
      reconcile: (uid) => this.#sync(uid),
    });
  }

  async #sync(uid: string): Promise<void> {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    const { clock, metrics } = this.#options;
    const pod = this.#options.pod(uid);
    const type = this.#typeOf(worker, pod);
    const begun = clock.now();
    try {
      await worker.sync(pod);
    } finally {
      metrics.podWorked(type, clock.now() - begun);
    }
    if (!worker.done) return;
    this.#workers.delete(uid);
    // A static pod whose manifest came back meanwhile.
    if (this.#options.pod(uid) !== undefined) this.add(uid);
  }

  #typeOf(worker: PodWorker, pod: Pod | undefined): WorkType {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !worker.active) return "kill";
    if (worker.known === undefined) return "create";
    return pod.metadata.resourceVersion === worker.known.metadata.resourceVersion ? "sync" : "update";
  }

  /** Has a pod synced, by a new worker if it has none. */
  add(uid: string): void {
    if (!this.#workers.has(uid)) this.#workers.set(uid, new PodWorker(uid, this.#options.context()));
    this.#queue.add(uid);
  }

  /** Has a pod synced again if it has a worker. */
  requeue(uid: string): void {
    this.#queue.add(uid);
  }

  requeueAfter(uid: string, milliseconds: number): void {
    this.#queue.addAfter(uid, milliseconds);
  }

  has(uid: string): boolean {
    return this.#workers.has(uid);
  }

  /** Containers of the pod run or may run. */
  isLive(uid: string): boolean {
    return this.#workers.get(uid)?.ended === false;
  }

  /** Pods that were admitted and have not ended. */
  running(): RunningPod[] {
    return [...this.#workers.values()].flatMap((worker) =>
      worker.active && worker.admitted && worker.pod !== undefined
        ? [{ pod: worker.pod, end: (how) => worker.end(how) }]
        : [],
    );
  }

  /** Objects of `running`. */
  runningPods(): Pod[] {
    return this.running().map(({ pod }) => pod);
  }

  /** Retries set-ups that failed. */
  retryAll(): void {
    for (const worker of this.#workers.values()) worker.retry();
  }

  /** Retries starts that failed. */
  retryStarts(uids: Iterable<string>): void {
    for (const uid of uids) this.#workers.get(uid)?.retryStarts();
  }

  volumesChanged(uid: string): void {
    this.#workers.get(uid)?.volumesChanged();
  }

  /** As `volumesChanged`, for the pods that `concerns` selects. */
  volumesOfManyChanged(concerns: (pod: Pod) => boolean): void {
    for (const worker of this.#workers.values())
      if (worker.pod !== undefined && concerns(worker.pod)) worker.volumesChanged();
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
