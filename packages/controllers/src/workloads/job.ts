import { type LabelSelection, labelSelectorOf, StatusError } from "@dray/api";
import { Job, type JobCondition } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { hasReached, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerOf, refersTo } from "../owners.ts";
import { writeStatus } from "../status.ts";
import { manage } from "./adopt.ts";
import { followPods } from "./follow-pods.ts";
import { delayAfter, type JobFailures } from "./job-back-off.ts";
import {
  indexedTemplate,
  isIndexed,
  isTerminating,
  isTracked,
  podPrefix,
  superfluousPods,
  trackedTemplate,
  trackingFinalizer,
} from "./job-pods.ts";
import { isFinished, JobRound } from "./job-round.ts";
import { podControl } from "./pod-control.ts";

/** Pods made or deleted in one go. */
const burst = 500;
const ownName = "kubernetes.io/job-controller";

/** Some other controller sees to the Job (KEP-4368). */
const isForeign = ({ spec }: Job): boolean => (spec.managedBy ?? ownName) !== ownName;
const selectorOf = ({ spec }: Job): LabelSelection => labelSelectorOf(spec.selector);

/** Runs the pods of Jobs until enough of them have succeeded, or too many have failed (batch/v1). */
export async function startJobController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const jobs = informers.of(Job);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "job-controller");
  const control = podControl(client, Job, pods, recorder);
  /** By the uid of a Job. */
  const failures = new Map<string, JobFailures>();
  await synced(context, [jobs, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("job", reconcile);
  const orphans = queues.queue("orphaned job pods", (key) => letGo(refOf(key)));

  jobs.handle({
    add: (job) => queue.add(keyOf(job.metadata)),
    update: (job) => queue.add(keyOf(job.metadata)),
    delete(job) {
      failures.delete(job.metadata.uid);
      orphan(job);
    },
  });
  followPods(pods, Job, jobs, selectorOf, (key) => queue.add(key));
  const heldPod = (pod: Pod): void => {
    if (isTracked(pod) && isOrphaned(pod)) orphans.add(keyOf(pod.metadata));
  };
  pods.handle({ add: heldPod, update: heldPod });

  function orphan(job: Job): void {
    for (const pod of pods.byIndex("controller", job.metadata.uid))
      if (isTracked(pod)) orphans.add(keyOf(pod.metadata));
  }

  /** No Job counts the pod: its finalizer would hold it for ever. */
  function isOrphaned(pod: Pod): boolean {
    const controller = controllerOf(pod);
    if (controller === undefined) return true;
    if (!refersTo(Job, controller)) return false;
    const job = jobs.get({ namespace: pod.metadata.namespace, name: controller.name });
    return job?.metadata.uid !== controller.uid || (isFinished(job) && !isForeign(job));
  }

  async function letGo(ref: { namespace?: string; name: string }): Promise<void> {
    const pod = pods.get(ref);
    if (pod === undefined || !isTracked(pod) || !isOrphaned(pod)) return;
    const controller = controllerOf(pod);
    if (controller !== undefined) {
      // The cache of Jobs may be behind that of pods.
      const job = await client
        .resource(Job)
        .get({ namespace: pod.metadata.namespace, name: controller.name })
        .catch(ignoreNotFound);
      if (job?.metadata.uid === controller.uid && (isForeign(job) || !isFinished(job))) return;
    }
    await release(pod);
  }

  async function release({ metadata }: Pod): Promise<void> {
    const { namespace, name, uid } = metadata;
    const change = { uid, "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] };
    const updated = await client
      .resource(Pod)
      .patch({ namespace, name }, "strategic", { metadata: change })
      .catch((error: unknown) => {
        // Another pod under the same name: this one is gone.
        if (StatusError.is(error, "Conflict")) return undefined;
        return ignoreNotFound(error);
      });
    if (updated !== undefined) await pods.until(() => hasReached(pods, updated));
  }

  async function reconcile(key: string): Promise<void> {
    const job = jobs.get(refOf(key));
    if (job === undefined || isForeign(job)) return;
    const { uid } = job.metadata;
    if (isFinished(job)) {
      failures.delete(uid);
      return orphan(job);
    }
    const candidates = pods.byIndex("namespace", job.metadata.namespace);
    const selector = selectorOf(job);
    const managed = await manage(client, Job, job, selector, Pod, candidates, trackingFinalizer);
    const round = new JobRound(job, managed, failures.get(uid), clock.now());
    let verdict = round.verdict();
    let failure: unknown;
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        failure = error;
      }
    };
    if (verdict !== undefined) {
      await attempt(() => control.delete(job, round.active));
      if (failure === undefined) round.count(0, round.active);
      else {
        // Pods may go on running: it is not at its end yet.
        verdict = undefined;
        round.count(0, []);
      }
    } else {
      round.count(0, []);
      if (job.metadata.deletionTimestamp === undefined) await attempt(() => scale(key, round));
      if (round.isComplete(round.status.active ?? 0)) {
        const message = "Reached expected number of succeeded pods";
        verdict = round.condition("SuccessCriteriaMet", "True", "CompletionsReached", message);
      } else if (job.metadata.deletionTimestamp === undefined && round.setSuspended()) {
        const suspended = job.spec.suspend === true;
        recorder.event(
          job,
          "Normal",
          suspended ? "Suspended" : "Resumed",
          suspended ? "Job suspended" : "Job resumed",
        );
      }
    }
    await track(round, verdict);
    if (failure !== undefined) throw failure;
    const left = round.untilDeadline();
    if (verdict === undefined && left !== undefined) queue.addAfter(key, left);
  }

  /** Makes or deletes pods until as many are active as should be. */
  async function scale(key: string, round: JobRound): Promise<void> {
    const { job, active } = round;
    const wanted = job.spec.suspend === true ? 0 : round.wanted();
    const surplus =
      job.spec.suspend === true ? active : superfluousPods(job, active, Math.max(0, active.length - wanted));
    if (surplus.length > 0) {
      const going = surplus.slice(0, burst);
      // Without the finalizer: pods that are not wanted do not count as failed.
      for (const pod of going) if (isTracked(pod)) await release(pod);
      await control.delete(job, going);
      return round.count(0, going);
    }
    const onlyFailed = job.spec.podReplacementPolicy === "Failed";
    const terminating = onlyFailed ? round.pods.filter(isTerminating).length : 0;
    const missing = Math.min(wanted - active.length - terminating, burst);
    if (missing <= 0 || job.spec.suspend === true) return;
    const templates = templatesFor(key, round, missing);
    const before = pods.byIndex("controller", job.metadata.uid).filter(isPodActive).length;
    try {
      await control.create(job, templates, (template) => podPrefix(job, template));
    } finally {
      const after = pods.byIndex("controller", job.metadata.uid).filter(isPodActive).length;
      round.count(Math.max(0, after - before), []);
    }
  }

  /** Those that may be made now; for the others the key comes again. */
  function templatesFor(key: string, round: JobRound, count: number) {
    const { job, replaced } = round;
    const now = clock.now();
    const wait = (delay: number): boolean => {
      if (delay > 0) queue.addAfter(key, delay);
      return delay > 0;
    };
    if (job.spec.backoffLimitPerIndex === undefined && wait(delayAfter(round.failures, now))) return [];
    if (!isIndexed(job)) return new Array(count).fill(trackedTemplate(job));
    return round
      .pendingIndexes(count)
      .map((index) => ({ index, before: replaced.get(index) }))
      .filter(({ before }) => before === undefined || !wait(delayAfter(round.failuresOf(before), now)))
      .map(({ index, before }) => indexedTemplate(job, index, before));
  }

  /**
   * Counts the pods that have ended, each once: first their uids are written, then their finalizers go, then the uids
   * become counts. Killed in between, the next round goes on there (KEP-2307).
   */
  async function track(round: JobRound, verdict: JobCondition | undefined): Promise<void> {
    const { released, all } = round.track(verdict);
    let job = await write(round.job, round);
    failures.set(job.metadata.uid, round.failures);
    const results = await Promise.allSettled(released.map(release));
    const held = round.pods.filter(
      (pod) => isTracked(pod) && results[released.indexOf(pod)]?.status !== "fulfilled",
    );
    round.settle(held);
    const failed = results.find((result) => result.status === "rejected");
    const final = all && failed === undefined && verdict !== undefined ? round.finish(verdict) : undefined;
    job = await write(job, round);
    if (final !== undefined) reportEnd(job, final);
    if (failed !== undefined) throw failed.reason;
  }

  async function write(job: Job, round: JobRound): Promise<Job> {
    const written = await writeStatus(client, Job, job, round.status);
    if (written !== job) await jobs.until(() => hasReached(jobs, written));
    return written;
  }

  function reportEnd(job: Job, { type, reason = "", message = "" }: JobCondition): void {
    if (type !== "Complete") {
      recorder.event(job, "Warning", reason, message);
      return;
    }
    const { completions } = job.spec;
    if (completions !== undefined && (job.status?.succeeded ?? 0) > completions) {
      const text = "Too many succeeded pods running after completion count reached";
      recorder.event(job, "Warning", "TooManySucceededPods", text);
    }
    recorder.event(job, "Normal", "Completed", "Job completed");
  }

  return queues.controller;
}

function ignoreNotFound(error: unknown): undefined {
  if (StatusError.is(error, "NotFound")) return undefined;
  throw error;
}
