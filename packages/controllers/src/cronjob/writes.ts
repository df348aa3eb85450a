import { StatusError } from "@dray/api";
import { CronJob, type CronJobStatus, Job } from "@dray/api/batch/v1";
import type { ObjectReference } from "@dray/api/core/v1";
import {
  type Client,
  type EventRecorder,
  hasReached,
  type Informer,
  isNamespaceTerminating,
} from "@dray/client";
import { controllerOf, controllerReference } from "../shared/owners.ts";
import { refTo, writeStatus } from "../shared/status.ts";
import { zonedTimeText } from "./schedule.ts";

const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** Writes of the CronJob controller; each waits for the cache to have what it wrote. */
export class CronJobWrites {
  readonly #client: Client;
  readonly #cronJobs: Informer<CronJob>;
  readonly #jobs: Informer<Job>;
  readonly #recorder: EventRecorder;

  constructor(client: Client, cronJobs: Informer<CronJob>, jobs: Informer<Job>, recorder: EventRecorder) {
    this.#client = client;
    this.#cronJobs = cronJobs;
    this.#jobs = jobs;
    this.#recorder = recorder;
  }

  async setStatus(cronJob: CronJob, status: CronJobStatus): Promise<void> {
    const written = await writeStatus(this.#client, CronJob, cronJob, status);
    if (written !== cronJob) await this.#cronJobs.until(() => hasReached(this.#cronJobs, written));
  }

  async deleteJob(cronJob: CronJob, job: Job): Promise<void> {
    const { uid, name } = job.metadata;
    const options = { propagationPolicy: "Background", preconditions: { uid } } as const;
    try {
      await this.#client.resource(Job).delete(refTo(job), options);
    } catch (error) {
      if (StatusError.is(error, "NotFound") || StatusError.is(error, "Conflict")) return;
      const text = error instanceof Error ? error.message : String(error);
      this.#recorder.event(cronJob, "Warning", "FailedDelete", `Deleted job: ${text}`);
      throw error;
    }
    this.#recorder.event(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    await this.#jobs.until(() => {
      const now = this.#jobs.get(refTo(job));
      return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
    });
  }

  /** Reports whether the Job is there: the cache may not have one that was made just now. */
  async exists({ namespace = "", name = "", uid }: ObjectReference): Promise<boolean> {
    // A reference that nobody can follow.
    if (namespace === "" || name === "") return false;
    try {
      return (await this.#client.resource(Job).get({ namespace, name })).metadata.uid === uid;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return false;
      throw error;
    }
  }

  /**
   * Creates the Job of one time. Its name contains the time, so that none is created twice. Undefined: it is
   * another's, or counted before.
   */
  async startJob(cronJob: CronJob, name: string, time: number): Promise<Job | undefined> {
    const { jobTemplate, timeZone = "UTC" } = cronJob.spec;
    const { namespace } = cronJob.metadata;
    const { labels, annotations } = jobTemplate.metadata ?? {};
    try {
      const job = await this.#client.resource(Job).create({
        metadata: {
          namespace,
          name,
          ...(labels === undefined ? {} : { labels }),
          annotations: { ...annotations, [scheduledAnnotation]: zonedTimeText(timeZone, time) },
          ownerReferences: [controllerReference(CronJob, cronJob)],
        },
        spec: jobTemplate.spec,
      });
      await this.#jobs.until(() => hasReached(this.#jobs, job));
      this.#recorder.event(cronJob, "Normal", "SuccessfulCreate", `Created job ${name}`);
      return job;
    } catch (error) {
      if (StatusError.is(error, "AlreadyExists")) return this.#uncounted(cronJob, name);
      if (!isNamespaceTerminating(error)) {
        const text = error instanceof Error ? error.message : String(error);
        this.#recorder.event(cronJob, "Warning", "FailedCreate", `Error creating job: ${text}`);
      }
      throw error;
    }
  }

  /** The Job of this name, if it is the CronJob's and not in its status yet. */
  async #uncounted({ metadata, status }: CronJob, name: string): Promise<Job | undefined> {
    const job = await this.#client.resource(Job).get({ namespace: metadata.namespace, name });
    const counted = status?.active?.some(({ uid }) => uid === job.metadata.uid) === true;
    return controllerOf(job)?.uid === metadata.uid && !counted ? job : undefined;
  }
}
