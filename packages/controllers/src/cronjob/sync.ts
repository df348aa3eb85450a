import type { CronJob, CronJobStatus, Job } from "@dray/api/batch/v1";
import type { ObjectReference } from "@dray/api/core/v1";
import { type Clock, type EventRecorder, type Informer, timeText } from "@dray/client";
import { finalCondition, isFinished } from "../job/status.ts";
import { controllerOf } from "../shared/owners.ts";
import { dueOf, timetableOf, untilNext } from "./missed-times.ts";
import { isTimeZone } from "./schedule.ts";
import type { CronJobWrites } from "./writes.ts";

/** Looks at one CronJob: what has become of its Jobs, and whether the time of the next one has come. */
export class CronJobSync {
  readonly #clock: Clock;
  readonly #jobs: Informer<Job>;
  readonly #writes: CronJobWrites;
  readonly #recorder: EventRecorder;

  constructor(clock: Clock, jobs: Informer<Job>, writes: CronJobWrites, recorder: EventRecorder) {
    this.#clock = clock;
    this.#jobs = jobs;
    this.#writes = writes;
    this.#recorder = recorder;
  }

  /** Returns the milliseconds until the next Job is due. */
  async run(cronJob: CronJob): Promise<number | undefined> {
    const owned = this.#jobs.byIndex("controller", cronJob.metadata.uid);
    await this.#forgetOld(cronJob, owned);
    let status = await this.#observed(cronJob, owned);
    let failure: unknown;
    let next: number | undefined;
    if (cronJob.metadata.deletionTimestamp === undefined) {
      try {
        ({ status, next } = await this.#startDue(cronJob, status));
      } catch (error) {
        failure = error;
      }
    }
    await this.#writes.setStatus(cronJob, status);
    if (failure !== undefined) throw failure;
    return next;
  }

  /** Deletes the oldest Jobs that have ended, beyond those that are kept. */
  async #forgetOld(cronJob: CronJob, owned: readonly Job[]): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec;
    const limits = { Complete: successfulJobsHistoryLimit, Failed: failedJobsHistoryLimit };
    for (const [type, limit] of Object.entries(limits)) {
      if (limit === undefined) continue;
      const ended = owned
        .filter(({ status, metadata }) => {
          return (
            finalCondition(status?.conditions)?.type === type && metadata.deletionTimestamp === undefined
          );
        })
        .sort(byStart);
      for (const job of ended.slice(0, Math.max(0, ended.length - limit)))
        await this.#writes.deleteJob(cronJob, job);
    }
  }

  /** The status after what has happened to the Jobs that were active. */
  async #observed(cronJob: CronJob, owned: readonly Job[]): Promise<CronJobStatus> {
    const { active: old = [], ...status } = cronJob.status ?? {};
    const active: ObjectReference[] = [];
    let { lastSuccessfulTime } = status;
    const byUid = new Map(owned.map((job) => [job.metadata.uid, job]));
    for (const reference of old) {
      const job = byUid.get(reference.uid ?? "");
      const end = finalCondition(job?.status?.conditions);
      if (end !== undefined) {
        const message = `Saw completed job: ${reference.name}, condition: ${end.type}`;
        this.#recorder.event(cronJob, "Normal", "SawCompletedJob", message);
      } else if (job !== undefined || (await this.#writes.exists(reference))) active.push(reference);
      else
        this.#recorder.event(cronJob, "Normal", "MissingJob", `Active job went missing: ${reference.name}`);
    }
    for (const job of owned) {
      const { name, uid } = job.metadata;
      if (!isFinished(job) && !old.some((reference) => reference.uid === uid)) {
        const message = `Saw a job that the controller did not create or forgot: ${name}`;
        this.#recorder.event(cronJob, "Warning", "UnexpectedJob", message);
      }
      const { completionTime } = job.status ?? {};
      const succeeded = finalCondition(job.status?.conditions)?.type === "Complete";
      if (succeeded && completionTime !== undefined && completionTime > (lastSuccessfulTime ?? ""))
        lastSuccessfulTime = completionTime;
    }
    return {
      ...status,
      ...(active.length === 0 ? {} : { active }),
      ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
    };
  }

  /** Starts the Job whose time has come, if it may. Returns also the milliseconds until the next time. */
  async #startDue(
    cronJob: CronJob,
    status: CronJobStatus,
  ): Promise<{ readonly status: CronJobStatus; readonly next?: number }> {
    const { spec } = cronJob;
    const now = this.#clock.now();
    if (spec.timeZone !== undefined && !isTimeZone(spec.timeZone)) {
      const message = `invalid timeZone: ${JSON.stringify(spec.timeZone)}: unknown time zone ${spec.timeZone}`;
      this.#recorder.event(cronJob, "Warning", "UnknownTimeZone", message);
      return { status };
    }
    if (spec.suspend === true) return { status };
    const timetable = timetableOf(cronJob, this.#recorder);
    const due = timetable && dueOf(cronJob, timetable, now, this.#recorder);
    if (timetable === undefined || due === undefined) return { status };
    const wait = untilNext(cronJob, timetable, now);
    const later = { status, ...(wait === undefined ? {} : { next: wait }) };
    if (due.time === undefined) return later;
    const time = timeText(due.time);
    const deadline = spec.startingDeadlineSeconds;
    if (deadline !== undefined && due.time + Number(deadline) * 1000 < now) {
      const missed = new Date(due.time).toUTCString().replace("GMT", "+0000");
      const message = `Missed scheduled time to start a job: ${missed}`;
      this.#recorder.event(cronJob, "Warning", "MissSchedule", message);
      return later;
    }
    const { active = [] } = status;
    const name = `${cronJob.metadata.name}-${Math.floor(due.time / 60_000)}`;
    if (status.lastScheduleTime === time || active.some((reference) => reference.name === name)) return later;
    if (spec.concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      this.#recorder.event(cronJob, "Normal", "JobAlreadyActive", message);
      return later;
    }
    if (spec.concurrencyPolicy === "Replace")
      for (const reference of active) await this.#replace(cronJob, reference);
    const job = await this.#writes.startJob(cronJob, name, due.time);
    if (job === undefined) return later;
    const others = spec.concurrencyPolicy === "Replace" ? [] : active;
    const started = { ...status, active: [...others, referenceTo(job)], lastScheduleTime: time };
    return { ...later, status: started };
  }

  async #replace(cronJob: CronJob, { namespace = "", name = "" }: ObjectReference): Promise<void> {
    const job = this.#jobs.get({ namespace, name });
    if (job !== undefined && controllerOf(job)?.uid === cronJob.metadata.uid)
      await this.#writes.deleteJob(cronJob, job);
  }
}

function byStart(a: Job, b: Job): number {
  const [first, second] = [a.status?.startTime ?? "~", b.status?.startTime ?? "~"];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function referenceTo({ apiVersion, kind, metadata }: Job): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
