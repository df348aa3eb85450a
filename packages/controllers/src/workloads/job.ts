import { type LabelSelection, labelSelectorOf } from "@dray/api";
import { Job } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import { keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { followPods } from "./follow-pods.ts";
import { OrphanedPods } from "./job-orphans.ts";
import { isTracked } from "./job-pods.ts";
import { JobSync } from "./job-sync.ts";
import { JobWrites } from "./job-writes.ts";

const selectorOf = ({ spec }: Job): LabelSelection => labelSelectorOf(spec.selector);

/** Runs the pods of Jobs until enough of them have succeeded, or too many have failed (batch/v1). */
export async function startJobController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const jobs = informers.of(Job);
  const pods = informers.of(Pod);
  await synced(context, [jobs, pods]);

  const recorder = recorderOf(context, "job-controller");
  const writes = new JobWrites(client, jobs, pods, recorder);
  const orphans = new OrphanedPods(client, jobs, pods, writes);
  const queues = controllerQueues(context);
  const orphanQueue = queues.queue("orphaned job pods", (key) => orphans.letGo(refOf(key)));
  const orphan = ({ metadata }: Job): void => {
    for (const pod of pods.byIndex("controller", metadata.uid))
      if (isTracked(pod)) orphanQueue.add(keyOf(pod.metadata));
  };
  const sync = new JobSync(context, { jobs, pods, writes, recorder, queue: () => queue, finished: orphan });
  const queue = queues.queue("job", (key) => sync.reconcile(key));

  jobs.handle({
    add: (job) => queue.add(keyOf(job.metadata)),
    update: (job) => queue.add(keyOf(job.metadata)),
    delete(job) {
      sync.forget(job);
      orphan(job);
    },
  });
  followPods(pods, Job, jobs, selectorOf, (key) => queue.add(key));
  const heldPod = (pod: Pod): void => {
    if (isTracked(pod) && orphans.isOrphaned(pod)) orphanQueue.add(keyOf(pod.metadata));
  };
  pods.handle({ add: heldPod, update: heldPod });
  return queues.controller;
}
