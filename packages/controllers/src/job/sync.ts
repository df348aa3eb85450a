import { labelSelectorOf } from "@dray/api";
import { Job, type JobCondition } from "@dray/api/batch/v1";
import { Pod, type PodTemplateSpec } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { type EventRecorder, type Informer, refOf, type WorkQueue } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { claimObjects } from "../shared/controller-ref-manager.ts";
import { type PodControl, podControl } from "../shared/pod-control.ts";
import { delayAfter, type JobFailures } from "./back-off.ts";
import { isForeign } from "./orphans.ts";
import {
  indexedTemplate,
  isIndexed,
  isTerminating,
  isTracked,
  podPrefix,
  superfluousPods,
  trackedTemplate,
  trackingFinalizer,
} from "./pods.ts";
import type { JobSchedulingManager } from "./scheduling-manager.ts";
import { isFinished, JobEvaluation } from "./status.ts";
import { groupedTemplate } from "./workload.ts";
import type { JobWrites } from "./writes.ts";

/** Pods made or deleted in one go. */
const burst = 500;

interface Parts {
  readonly jobs: Informer<Job>;
  readonly pods: Informer<Pod>;
  readonly writes: JobWrites;
  readonly recorder: EventRecorder;
  readonly queue: () => WorkQueue;
  /** Absent where the pods of Jobs are scheduled one by one. */
  readonly groups: JobSchedulingManager | undefined;
  /** Called with a Job that has finished. */
  readonly finished: (job: Job) => void;
}

/** Changes to the pods of a Job. */
interface Step {
  /** The condition by which the Job ends. */
  readonly verdict: JobCondition | undefined;
  /** An error that is thrown when everything has been counted. */
  readonly failure?: unknown;
}

/** Runs the pods of one Job, and counts those that have ended. */
export class JobSync {
  readonly #context: ControllerContext;
  readonly #parts: Parts;
  readonly #writes: JobWrites;
  readonly #control: PodControl<Job>;
  readonly #queue: () => WorkQueue;
  /** By the uid of a Job. */
  readonly #failures = new Map<string, JobFailures>();

  constructor(context: ControllerContext, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#writes = parts.writes;
    this.#control = podControl(context.client, Job, parts.pods, parts.recorder);
    this.#queue = parts.queue;
  }

  forget({ metadata }: Job): void {
    this.#failures.delete(metadata.uid);
  }

  async reconcile(key: string): Promise<void> {
    const { client, clock } = this.#context;
    const { jobs, pods, finished } = this.#parts;
    const job = jobs.get(refOf(key));
    if (job === undefined || isForeign(job)) return;
    if (isFinished(job)) {
      this.forget(job);
      return finished(job);
    }
    const candidates = pods.byIndex("namespace", job.metadata.namespace);
    const selector = labelSelectorOf(job.spec.selector);
    const managed = await claimObjects(
      client,
      { kind: Job, owner: job, selector, finalizer: trackingFinalizer },
      Pod,
      candidates,
    );
    const isGoing = job.metadata.deletionTimestamp !== undefined;
    const group = isGoing ? undefined : await this.#parts.groups?.groupOf(job, managed.length);
    const evaluation = new JobEvaluation(job, managed, this.#failures.get(job.metadata.uid), clock.now());
    const { verdict, failure } = await this.#act(key, evaluation, group);
    await this.#track(evaluation, verdict);
    if (failure !== undefined) throw failure;
    const left = evaluation.untilDeadline();
    if (verdict === undefined && left !== undefined) this.#queue().addAfter(key, left);
  }

  /** Makes or deletes pods. */
  async #act(key: string, evaluation: JobEvaluation, group: PodGroup | undefined): Promise<Step> {
    const verdict = evaluation.verdict();
    return verdict === undefined ? this.#continue(key, evaluation, group) : this.#end(evaluation, verdict);
  }

  async #end(evaluation: JobEvaluation, verdict: JobCondition): Promise<Step> {
    try {
      await this.#control.delete(evaluation.job, evaluation.active);
    } catch (failure) {
      // Pods may go on running: it is not at its end yet.
      evaluation.count(0, []);
      return { verdict: undefined, failure };
    }
    evaluation.count(0, evaluation.active);
    return { verdict };
  }

  async #continue(key: string, evaluation: JobEvaluation, group: PodGroup | undefined): Promise<Step> {
    const isGoing = evaluation.job.metadata.deletionTimestamp !== undefined;
    let failure: unknown;
    evaluation.count(0, []);
    if (!isGoing) {
      try {
        await this.#scale(key, evaluation, group);
      } catch (error) {
        failure = error;
      }
    }
    if (evaluation.isComplete(evaluation.status.active ?? 0)) {
      const message = "Reached expected number of succeeded pods";
      const verdict = evaluation.condition("SuccessCriteriaMet", "True", "CompletionsReached", message);
      return { verdict, failure };
    }
    if (!isGoing && evaluation.setSuspended()) this.#writes.reportSuspension(evaluation.job);
    return { verdict: undefined, failure };
  }

  /** Makes or deletes pods until as many are active as should be. */
  async #scale(key: string, evaluation: JobEvaluation, group: PodGroup | undefined): Promise<void> {
    const { job, active } = evaluation;
    const wanted = job.spec.suspend === true ? 0 : evaluation.wanted();
    const surplus =
      job.spec.suspend === true ? active : superfluousPods(job, active, Math.max(0, active.length - wanted));
    if (surplus.length > 0) {
      const going = surplus.slice(0, burst);
      // Without the finalizer: pods that are not wanted do not count as failed.
      for (const pod of going) if (isTracked(pod)) await this.#writes.release(pod);
      await this.#control.delete(job, going);
      return evaluation.count(0, going);
    }
    const onlyFailed = job.spec.podReplacementPolicy === "Failed";
    const terminating = onlyFailed ? evaluation.pods.filter(isTerminating).length : 0;
    const missing = Math.min(wanted - active.length - terminating, burst);
    if (missing <= 0 || job.spec.suspend === true) return;
    const single = this.#templatesFor(key, evaluation, missing);
    const templates = group === undefined ? single : single.map((each) => groupedTemplate(each, group));
    const before = this.#activePods(job);
    try {
      await this.#control.create(job, templates, (template) => podPrefix(job, template));
    } finally {
      const after = this.#activePods(job);
      evaluation.count(Math.max(0, after - before), []);
    }
  }

  /** Those that may be made now; for the others the key comes again. */
  #templatesFor(key: string, evaluation: JobEvaluation, count: number): PodTemplateSpec[] {
    const { job, replaced } = evaluation;
    const now = this.#context.clock.now();
    const wait = (delay: number): boolean => {
      if (delay > 0) this.#queue().addAfter(key, delay);
      return delay > 0;
    };
    if (job.spec.backoffLimitPerIndex === undefined && wait(delayAfter(evaluation.failures, now))) return [];
    if (!isIndexed(job)) return new Array(count).fill(trackedTemplate(job));
    return evaluation
      .pendingIndexes(count)
      .map((index) => ({ index, before: replaced.get(index) }))
      .filter(({ before }) => before === undefined || !wait(delayAfter(evaluation.failuresOf(before), now)))
      .map(({ index, before }) => indexedTemplate(job, index, before));
  }

  #activePods({ metadata }: Job): number {
    return this.#parts.pods.byIndex("controller", metadata.uid).filter(isPodActive).length;
  }

  /**
   * Counts the pods that have ended, each once: first their uids are written, then their finalizers go, then
   * the uids become counts. After a crash in between, the next sync continues there (KEP-2307).
   */
  async #track(evaluation: JobEvaluation, verdict: JobCondition | undefined): Promise<void> {
    const { released, all } = evaluation.track(verdict);
    let job = await this.#writes.writeStatus(evaluation.job, evaluation);
    this.#failures.set(job.metadata.uid, evaluation.failures);
    const results = await Promise.allSettled(released.map((pod) => this.#writes.release(pod)));
    const held = evaluation.pods.filter(
      (pod) => isTracked(pod) && results[released.indexOf(pod)]?.status !== "fulfilled",
    );
    evaluation.settle(held);
    const failed = results.find((result) => result.status === "rejected");
    const final =
      all && failed === undefined && verdict !== undefined ? evaluation.finish(verdict) : undefined;
    job = await this.#writes.writeStatus(job, evaluation);
    if (final !== undefined) this.#writes.reportEnd(job, final);
    if (failed !== undefined) throw failed.reason;
  }
}
