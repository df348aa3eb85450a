import { type LabelSelection, labelSelectorOf } from "@dray/api";
import { Job } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import type { PodGroup, Workload } from "@dray/api/scheduling/v1beta1";
import { type Informer, keyOf, refOf, type WorkQueue } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { followPods } from "../shared/follow-pods.ts";
import { controllerOf, refersTo } from "../shared/owners.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { OrphanedPods } from "./orphans.ts";
import { isTracked } from "./pods.ts";
import { type GroupCaches, groupCaches, JobSchedulingManager } from "./scheduling-manager.ts";
import { JobSync } from "./sync.ts";
import { JobWrites } from "./writes.ts";

const selectorOf = ({ spec }: Job): LabelSelection => labelSelectorOf(spec.selector);

/**
 * Runs the pods of Jobs until enough of them have succeeded, or too many have failed (batch/v1). Without
 * `served` they are never scheduled as groups.
 */
export async function startJobController(
  context: ControllerContext,
  served?: Pick<ServedResources, "find">,
): Promise<Controller> {
  const { client, informers } = context;
  const jobs = informers.of(Job);
  const pods = informers.of(Pod);
  const caches = groupCaches(context, served);
  await synced(context, [jobs, pods, ...(caches === undefined ? [] : [caches.workloads, caches.groups])]);

  const recorder = recorderOf(context, "job-controller");
  const writes = new JobWrites(client, jobs, pods, recorder);
  const orphans = new OrphanedPods(client, jobs, pods, writes);
  const queues = controllerQueues(context);
  const orphanQueue = queues.queue("job_orphan_pod", (key) => orphans.letGo(refOf(key)));
  const orphan = ({ metadata }: Job): void => {
    for (const pod of pods.byIndex("controller", metadata.uid))
      if (isTracked(pod)) orphanQueue.add(keyOf(pod.metadata));
  };
  const groups = caches && new JobSchedulingManager(client, caches, recorder);
  const parts = { jobs, pods, writes, recorder, groups, queue: () => queue, finished: orphan };
  const sync = new JobSync(context, parts);
  const queue = queues.queue("job", (key) => sync.reconcile(key));
  if (caches !== undefined) followGroups(caches, jobs, queue);

  jobs.handle({
    add: (job) => queue.add(keyOf(job.metadata)),
    update: (job) => queue.add(keyOf(job.metadata)),
    delete(job) {
      sync.forget(job);
      orphan(job);
    },
  });
  followPods(pods, { kind: Job, owners: jobs, selectorOf }, (key) => queue.add(key));
  const heldPod = (pod: Pod): void => {
    if (isTracked(pod) && orphans.isOrphaned(pod)) orphanQueue.add(keyOf(pod.metadata));
  };
  pods.handle({ add: heldPod, update: heldPod });
  return queues.controller;
}

/** Adds the Jobs whose scheduling objects have changed: their own, or the Workload of their owner. */
function followGroups({ workloads, groups }: GroupCaches, jobs: Informer<Job>, queue: WorkQueue): void {
  const changed = ({ metadata }: Workload | PodGroup): void => {
    const owner = controllerOf({ metadata });
    if (owner === undefined) return;
    if (refersTo(Job, owner)) queue.add(keyOf({ namespace: metadata.namespace, name: owner.name }));
    for (const job of jobs.byIndex("controller", owner.uid)) queue.add(keyOf(job.metadata));
  };
  workloads.handle({ add: changed, update: changed, delete: changed });
  groups.handle({ add: changed, update: changed, delete: changed });
}
