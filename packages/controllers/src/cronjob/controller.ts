import { CronJob, Job } from "@dray/api/batch/v1";
import { keyOf, refOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { controllerOf, refersTo } from "../shared/owners.ts";
import { timetableOf, untilNext } from "./missed-times.ts";
import { CronJobSync } from "./sync.ts";
import { CronJobWrites } from "./writes.ts";

/** Starts Jobs at the times of their CronJob, and deletes those that have ended long ago (batch/v1). */
export async function startCronJobController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const cronJobs = informers.of(CronJob);
  const jobs = informers.of(Job);
  await synced(context, [cronJobs, jobs]);

  const recorder = recorderOf(context, "cronjob-controller");
  const sync = new CronJobSync(clock, jobs, new CronJobWrites(client, cronJobs, jobs, recorder), recorder);
  const queues = controllerQueues(context);
  const queue = queues.queue("cronjob", async (key) => {
    const cronJob = cronJobs.get(refOf(key));
    const next = cronJob && (await sync.run(cronJob));
    if (next !== undefined) queue.addAfter(key, next);
  });
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
  return queues.controller;
}
