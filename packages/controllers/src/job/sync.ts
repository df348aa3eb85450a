import { labelSelectorOf } from "@dray/api";
import { Job, type JobCondition } from "@dray/api/batch/v1";
import { Pod, type PodTemplateSpec } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { type EventRecorder, type Informer, refOf, type WorkQueue } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { manage } from "../shared/controller-ref-manager.ts";
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
import type { JobGroups } from "./scheduling-manager.ts";
import { isFinished, JobRound } from "./status.ts";
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
  readonly groups: JobGroups | undefined;
  /** Called with a Job that has finished. */
  readonly finished: (job: Job) => void;
}

/** What has been done to the pods of a Job. */
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
    const managed = await manage(client, Job, job, selector, Pod, candidates, trackingFinalizer);
    const isGoing = job.metadata.deletionTimestamp !== undefined;
    const group = isGoing ? undefined : await this.#parts.groups?.groupOf(job, managed.length);
    const round = new JobRound(job, managed, this.#failures.get(job.metadata.uid), clock.now());
    const { verdict, failure } = await this.#act(key, round, group);
    await this.#track(round, verdict);
    if (failure !== undefined) throw failure;
    const left = round.untilDeadline();
    if (verdict === undefined && left !== undefined) this.#queue().addAfter(key, left);
  }

  /** Makes or deletes pods. */
  async #act(key: string, round: JobRound, group: PodGroup | undefined): Promise<Step> {
    const verdict = round.verdict();
    return verdict === undefined ? this.#goOn(key, round, group) : this.#end(round, verdict);
  }

  async #end(round: JobRound, verdict: JobCondition): Promise<Step> {
    try {
      await this.#control.delete(round.job, round.active);
    } catch (failure) {
      // Pods may go on running: it is not at its end yet.
      round.count(0, []);
      return { verdict: undefined, failure };
    }
    round.count(0, round.active);
    return { verdict };
  }

  async #goOn(key: string, round: JobRound, group: PodGroup | undefined): Promise<Step> {
    const isGoing = round.job.metadata.deletionTimestamp !== undefined;
    let failure: unknown;
    round.count(0, []);
    if (!isGoing) {
      try {
        await this.#scale(key, round, group);
      } catch (error) {
        failure = error;
      }
    }
    if (round.isComplete(round.status.active ?? 0)) {
      const message = "Reached expected number of succeeded pods";
      const verdict = round.condition("SuccessCriteriaMet", "True", "CompletionsReached", message);
      return { verdict, failure };
    }
    if (!isGoing && round.setSuspended()) this.#writes.reportSuspension(round.job);
    return { verdict: undefined, failure };
  }

  /** Makes or deletes pods until as many are active as should be. */
  async #scale(key: string, round: JobRound, group: PodGroup | undefined): Promise<void> {
    const { job, active } = round;
    const wanted = job.spec.suspend === true ? 0 : round.wanted();
    const surplus =
      job.spec.suspend === true ? active : superfluousPods(job, active, Math.max(0, active.length - wanted));
    if (surplus.length > 0) {
      const going = surplus.slice(0, burst);
      // Without the finalizer: pods that are not wanted do not count as failed.
      for (const pod of going) if (isTracked(pod)) await this.#writes.release(pod);
      await this.#control.delete(job, going);
      return round.count(0, going);
    }
    const onlyFailed = job.spec.podReplacementPolicy === "Failed";
    const terminating = onlyFailed ? round.pods.filter(isTerminating).length : 0;
    const missing = Math.min(wanted - active.length - terminating, burst);
    if (missing <= 0 || job.spec.suspend === true) return;
    const single = this.#templatesFor(key, round, missing);
    const templates = group === undefined ? single : single.map((each) => groupedTemplate(each, group));
    const before = this.#activePods(job);
    try {
      await this.#control.create(job, templates, (template) => podPrefix(job, template));
    } finally {
      const after = this.#activePods(job);
      round.count(Math.max(0, after - before), []);
    }
  }

  /** Those that may be made now; for the others the key comes again. */
  #templatesFor(key: string, round: JobRound, count: number): PodTemplateSpec[] {
    const { job, replaced } = round;
    const now = this.#context.clock.now();
    const wait = (delay: number): boolean => {
      if (delay > 0) this.#queue().addAfter(key, delay);
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

  #activePods({ metadata }: Job): number {
    return this.#parts.pods.byIndex("controller", metadata.uid).filter(isPodActive).length;
  }

  /**
   * Counts the pods that have ended, each once: first their uids are written, then their finalizers go, then the uids
   * become counts. Killed in between, the next round goes on there (KEP-2307).
   */
  async #track(round: JobRound, verdict: JobCondition | undefined): Promise<void> {
    const { released, all } = round.track(verdict);
    let job = await this.#writes.writeStatus(round.job, round);
    this.#failures.set(job.metadata.uid, round.failures);
    const results = await Promise.allSettled(released.map((pod) => this.#writes.release(pod)));
    const held = round.pods.filter(
      (pod) => isTracked(pod) && results[released.indexOf(pod)]?.status !== "fulfilled",
    );
    round.settle(held);
    const failed = results.find((result) => result.status === "rejected");
    const final = all && failed === undefined && verdict !== undefined ? round.finish(verdict) : undefined;
    job = await this.#writes.writeStatus(job, round);
    if (final !== undefined) this.#writes.reportEnd(job, final);
    if (failed !== undefined) throw failed.reason;
  }
}
