import { StatusError } from "@dray/api";
import { Job, type JobCondition } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import { type Client, type EventRecorder, hasReached, type Informer } from "@dray/client";
import { writeStatus } from "../shared/status.ts";
import { trackingFinalizer } from "./pods.ts";
import type { JobEvaluation } from "./status.ts";

/** Writes of the Job controller; each waits for the cache to have what it wrote. */
export class JobWrites {
  readonly #client: Client;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;

  constructor(client: Client, jobs: Informer<Job>, pods: Informer<Pod>, recorder: EventRecorder) {
    this.#client = client;
    this.#jobs = jobs;
    this.#pods = pods;
    this.#recorder = recorder;
  }

  /** Takes the tracking finalizer from a pod. */
  async release({ metadata }: Pod): Promise<void> {
    const { namespace, name, uid } = metadata;
    const change = { uid, "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] };
    const updated = await this.#client
      .resource(Pod)
      .patch({ namespace, name }, "strategic", { metadata: change })
      .catch((error: unknown) => {
        // Another pod under the same name: this one is gone.
        if (StatusError.is(error, "Conflict")) return undefined;
        return ignoreNotFound(error);
      });
    if (updated !== undefined) await this.#pods.until(() => hasReached(this.#pods, updated));
  }

  async writeStatus(job: Job, evaluation: JobEvaluation): Promise<Job> {
    const written = await writeStatus(this.#client, Job, job, evaluation.status);
    if (written !== job) await this.#jobs.until(() => hasReached(this.#jobs, written));
    return written;
  }

  reportSuspension(job: Job): void {
    if (job.spec.suspend === true) this.#recorder.event(job, "Normal", "Suspended", "Job suspended");
    else this.#recorder.event(job, "Normal", "Resumed", "Job resumed");
  }

  reportEnd(job: Job, { type, reason = "", message = "" }: JobCondition): void {
    if (type !== "Complete") {
      this.#recorder.event(job, "Warning", reason, message);
      return;
    }
    const { completions } = job.spec;
    if (completions !== undefined && (job.status?.succeeded ?? 0) > completions) {
      const text = "Too many succeeded pods running after completion count reached";
      this.#recorder.event(job, "Warning", "TooManySucceededPods", text);
    }
    this.#recorder.event(job, "Normal", "Completed", "Job completed");
  }
}

export function ignoreNotFound(error: unknown): undefined {
  if (StatusError.is(error, "NotFound")) return undefined;
  throw error;
}
