import { parseSchedule, type Schedule, ScheduleError, StatusError } from "@dray/api";
import { CronJob, type CronJobStatus, Job } from "@dray/api/batch/v1";
import type { ObjectReference } from "@dray/api/core/v1";
import { type EventRecorder, hasReached, isNamespaceTerminating, keyOf, refOf, timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerOf, controllerReference, refersTo } from "../owners.ts";
import { refTo, writeStatus } from "../status.ts";
import { dueTime, isTimeZone, nextTime, zonedTimeText } from "./cron-times.ts";
import { finalCondition, isFinished } from "./job-round.ts";

/** Milliseconds by which clocks may differ: so long after its time a Job begins. */
const clockDifference = 100;
const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** A schedule on the clocks of a zone. */
interface Timetable {
  readonly schedule: Schedule;
  readonly zone: string;
}

/** Starts Jobs at the times of their CronJob, and deletes those that have ended long ago (batch/v1). */
export async function startCronJobController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const cronJobs = informers.of(CronJob);
  const jobs = informers.of(Job);
  const recorder = recorderOf(context, "cronjob-controller");
  const jobResource = client.resource(Job);
  await synced(context, [cronJobs, jobs]);

  const queues = controllerQueues(context);
  const queue = queues.queue("cronjob", reconcile);
  cronJobs.handle({
    add: (cronJob) => queue.add(keyOf(cronJob.metadata)),
    update(cronJob, old) {
      const { schedule, timeZone } = cronJob.spec;
      const key = keyOf(cronJob.metadata);
      if (schedule === old.spec.schedule && timeZone === old.spec.timeZone) queue.add(key);
      else {
        // Times of the new schedule that have passed under the old one start nothing.
        const timetable = timetableOf(cronJob, recorder);
        const next = timetable && untilNext(cronJob, timetable, clock.now());
        if (next !== undefined) queue.addAfter(key, next);
      }
    },
  });
  const jobChanged = (job: Job, old?: Job): void => {
    const controller = controllerOf(job);
    if (old !== undefined && controllerOf(old)?.uid !== controller?.uid) jobChanged(old);
    const { namespace } = job.metadata;
    if (controller !== undefined && refersTo(CronJob, controller))
      queue.add(keyOf({ namespace, name: controller.name }));
  };
  jobs.handle({ add: jobChanged, update: jobChanged, delete: (job) => jobChanged(job) });

  async function reconcile(key: string): Promise<void> {
    const cronJob = cronJobs.get(refOf(key));
    if (cronJob === undefined) return;
    const owned = jobs.byIndex("controller", cronJob.metadata.uid);
    await forgetOld(cronJob, owned);
    let status = await observed(cronJob, owned);
    let failure: unknown;
    let next: number | undefined;
    if (cronJob.metadata.deletionTimestamp === undefined) {
      try {
        ({ status, next } = await startDue(cronJob, status));
      } catch (error) {
        failure = error;
      }
    }
    const written = await writeStatus(client, CronJob, cronJob, status);
    if (written !== cronJob) await cronJobs.until(() => hasReached(cronJobs, written));
    if (failure !== undefined) throw failure;
    if (next !== undefined) queue.addAfter(key, next);
  }

  /** Deletes the oldest Jobs that have ended, beyond those that are kept. */
  async function forgetOld(cronJob: CronJob, owned: readonly Job[]): Promise<void> {
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
      for (const job of ended.slice(0, Math.max(0, ended.length - limit))) await deleteJob(cronJob, job);
    }
  }

  async function deleteJob(cronJob: CronJob, job: Job): Promise<void> {
    const { uid, name } = job.metadata;
    try {
      await jobResource.delete(refTo(job), { propagationPolicy: "Background", preconditions: { uid } });
    } catch (error) {
      if (StatusError.is(error, "NotFound") || StatusError.is(error, "Conflict")) return;
      const text = error instanceof Error ? error.message : String(error);
      recorder.event(cronJob, "Warning", "FailedDelete", `Deleted job: ${text}`);
      throw error;
    }
    recorder.event(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    await jobs.until(() => {
      const now = jobs.get(refTo(job));
      return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
    });
  }

  /** The status after what has happened to the Jobs that were active. */
  async function observed(cronJob: CronJob, owned: readonly Job[]): Promise<CronJobStatus> {
    const { active: old = [], ...status } = cronJob.status ?? {};
    const active: ObjectReference[] = [];
    let { lastSuccessfulTime } = status;
    const byUid = new Map(owned.map((job) => [job.metadata.uid, job]));
    for (const reference of old) {
      const job = byUid.get(reference.uid ?? "");
      const end = finalCondition(job?.status?.conditions);
      if (end !== undefined) {
        const message = `Saw completed job: ${reference.name}, condition: ${end.type}`;
        recorder.event(cronJob, "Normal", "SawCompletedJob", message);
      } else if (job !== undefined || (await exists(reference))) active.push(reference);
      else recorder.event(cronJob, "Normal", "MissingJob", `Active job went missing: ${reference.name}`);
    }
    for (const job of owned) {
      const { name, uid } = job.metadata;
      if (!isFinished(job) && !old.some((reference) => reference.uid === uid)) {
        const message = `Saw a job that the controller did not create or forgot: ${name}`;
        recorder.event(cronJob, "Warning", "UnexpectedJob", message);
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

  /** The cache may not have a Job that was made just now. */
  async function exists({ namespace = "", name = "", uid }: ObjectReference): Promise<boolean> {
    try {
      return (await jobResource.get({ namespace, name })).metadata.uid === uid;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return false;
      throw error;
    }
  }

  /** Starts the Job whose time has come, if it may. Returns also the milliseconds until the next time. */
  async function startDue(
    cronJob: CronJob,
    status: CronJobStatus,
  ): Promise<{ readonly status: CronJobStatus; readonly next?: number }> {
    const { spec } = cronJob;
    const now = clock.now();
    if (spec.timeZone !== undefined && !isTimeZone(spec.timeZone)) {
      const message = `invalid timeZone: ${JSON.stringify(spec.timeZone)}: unknown time zone ${spec.timeZone}`;
      recorder.event(cronJob, "Warning", "UnknownTimeZone", message);
      return { status };
    }
    if (spec.suspend === true) return { status };
    const timetable = timetableOf(cronJob, recorder);
    const due = timetable && dueOf(cronJob, timetable, now, recorder);
    if (timetable === undefined || due === undefined) return { status };
    const wait = untilNext(cronJob, timetable, now);
    const later = { status, ...(wait === undefined ? {} : { next: wait }) };
    if (due.time === undefined) return later;
    const time = timeText(due.time);
    const deadline = spec.startingDeadlineSeconds;
    if (deadline !== undefined && due.time + Number(deadline) * 1000 < now) {
      const missed = new Date(due.time).toUTCString().replace("GMT", "+0000");
      const message = `Missed scheduled time to start a job: ${missed}`;
      recorder.event(cronJob, "Warning", "MissSchedule", message);
      return later;
    }
    const { active = [] } = status;
    const name = `${cronJob.metadata.name}-${Math.floor(due.time / 60_000)}`;
    if (status.lastScheduleTime === time || active.some((reference) => reference.name === name)) return later;
    if (spec.concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      recorder.event(cronJob, "Normal", "JobAlreadyActive", message);
      return later;
    }
    if (spec.concurrencyPolicy === "Replace")
      for (const reference of active) await replace(cronJob, reference);
    const job = await startJob(cronJob, name, due.time);
    if (job === undefined) return later;
    const others = spec.concurrencyPolicy === "Replace" ? [] : active;
    const started = { ...status, active: [...others, referenceTo(job)], lastScheduleTime: time };
    return { ...later, status: started };
  }

  async function replace(cronJob: CronJob, { namespace = "", name = "" }: ObjectReference): Promise<void> {
    const job = jobs.get({ namespace, name });
    if (job !== undefined && controllerOf(job)?.uid === cronJob.metadata.uid) await deleteJob(cronJob, job);
  }

  /** The name of a Job holds its time, so that none is made twice. Undefined: it is not ours, or was counted before. */
  async function startJob(cronJob: CronJob, name: string, time: number): Promise<Job | undefined> {
    const { jobTemplate, timeZone = "UTC" } = cronJob.spec;
    const { namespace } = cronJob.metadata;
    const { labels, annotations } = jobTemplate.metadata ?? {};
    try {
      const job = await jobResource.create({
        metadata: {
          namespace,
          name,
          ...(labels === undefined ? {} : { labels }),
          annotations: { ...annotations, [scheduledAnnotation]: zonedTimeText(timeZone, time) },
          ownerReferences: [controllerReference(CronJob, cronJob)],
        },
        spec: jobTemplate.spec,
      });
      await jobs.until(() => hasReached(jobs, job));
      recorder.event(cronJob, "Normal", "SuccessfulCreate", `Created job ${name}`);
      return job;
    } catch (error) {
      if (StatusError.is(error, "AlreadyExists")) {
        const job = await jobResource.get({ namespace, name });
        const counted = cronJob.status?.active?.some(({ uid }) => uid === job.metadata.uid) === true;
        return controllerOf(job)?.uid === cronJob.metadata.uid && !counted ? job : undefined;
      }
      if (!isNamespaceTerminating(error)) {
        const text = error instanceof Error ? error.message : String(error);
        recorder.event(cronJob, "Warning", "FailedCreate", `Error creating job: ${text}`);
      }
      throw error;
    }
  }

  return queues.controller;
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

/** Undefined, with an event, for a schedule that cannot be read: nothing is done until it is changed. */
function timetableOf(cronJob: CronJob, recorder: EventRecorder): Timetable | undefined {
  const { schedule: text, timeZone } = cronJob.spec;
  if (text.includes("TZ")) {
    const message = `CRON_TZ or TZ used in schedule ${JSON.stringify(text)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`;
    recorder.event(cronJob, "Warning", "UnsupportedSchedule", message);
  }
  try {
    const schedule = parseSchedule(text);
    const zone = schedule.zone ?? timeZone ?? localZone();
    if (!isTimeZone(zone))
      throw new ScheduleError(`provided bad location ${zone}: unknown time zone ${zone}`);
    return { schedule, zone };
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const message = `unparseable schedule: ${JSON.stringify(text)} : ${error.message}`;
    recorder.event(cronJob, "Warning", "UnparseableSchedule", message);
    return undefined;
  }
}

/** Without a time zone a schedule is read on the clock of the machine that the controllers run on. */
function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function startOf({ metadata, status }: CronJob): number {
  return Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp);
}

/** The time that has come since the last one, no further back than the starting deadline. */
function dueOf(
  cronJob: CronJob,
  { schedule, zone }: Timetable,
  now: number,
  recorder: EventRecorder,
): { readonly time?: number } | undefined {
  const { startingDeadlineSeconds: deadline, schedule: text } = cronJob.spec;
  const oldest = deadline === undefined ? 0 : now - Number(deadline) * 1000;
  try {
    const { time, missed } = dueTime(schedule, Math.max(startOf(cronJob), oldest), now, zone);
    if (missed === "many" && time !== undefined) {
      const message =
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      recorder.event(cronJob, "Warning", "TooManyMissedTimes", message);
    }
    return time === undefined ? {} : { time };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = `invalid schedule: ${text} : ${error.message}`;
    recorder.event(cronJob, "Warning", "InvalidSchedule", message);
    return undefined;
  }
}

/** Milliseconds until the schedule is due again. Upstream: pkg/controller/cronjob/utils.go, nextScheduleTimeDuration. */
function untilNext(cronJob: CronJob, { schedule, zone }: Timetable, now: number): number | undefined {
  let from = now;
  try {
    const { time, missed } = dueTime(schedule, startOf(cronJob), now, zone);
    if (time !== undefined) from = time;
    else if (missed === "none") from = startOf(cronJob);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const next = nextTime(schedule, from, zone);
  return next === undefined ? undefined : Math.max(0, next + clockDifference - now);
}
