import { StatusError } from "@dray/api";
import { Job } from "@dray/api/batch/v1";
import { keyOf, refOf } from "@dray/client";
import { finalCondition } from "../job/status.ts";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";

/** Milliseconds until a Job is to be deleted; undefined for one that stays. */
function timeLeft({ metadata, spec, status }: Job, now: number): number | undefined {
  const ended = finalCondition(status?.conditions)?.lastTransitionTime;
  if (metadata.deletionTimestamp !== undefined || ended === undefined) return undefined;
  if (spec.ttlSecondsAfterFinished === undefined) return undefined;
  return Date.parse(ended) + spec.ttlSecondsAfterFinished * 1000 - now;
}

/**
 * Deletes Jobs, with their pods, some seconds after they have finished (KEP-592).
 *
 * Upstream: pkg/controller/ttlafterfinished.
 */
export async function startJobExpiryController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const jobs = informers.of(Job);
  await synced(context, [jobs]);
  const queues = controllerQueues(context);
  const queue = queues.queue("ttl_jobs_to_delete", reconcile);
  const jobChanged = (job: Job): void => {
    if (timeLeft(job, clock.now()) !== undefined) queue.add(keyOf(job.metadata));
  };
  jobs.handle({ add: jobChanged, update: jobChanged });

  async function reconcile(key: string): Promise<void> {
    const cached = jobs.get(refOf(key));
    if (cached === undefined || !isOver(key, cached)) return;
    try {
      // The time to live may have been changed since.
      const job = await client.resource(Job).get(refOf(key));
      if (!isOver(key, job)) return;
      const preconditions = { uid: job.metadata.uid };
      await client.resource(Job).delete(refOf(key), { propagationPolicy: "Foreground", preconditions });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }

  /** If it is not over yet, the key comes again. */
  function isOver(key: string, job: Job): boolean {
    const left = timeLeft(job, clock.now());
    if (left !== undefined && left > 0) queue.addAfter(key, left);
    return left !== undefined && left <= 0;
  }

  return queues.controller;
}
