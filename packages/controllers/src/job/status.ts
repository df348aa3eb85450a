import type { Job, JobCondition, JobStatus } from "@dray/api/batch/v1";
import type { Pod } from "@dray/api/core/v1";
import { isPodActive, isPodReady } from "@dray/api/pod";
import { timeText } from "@dray/client";
import { failuresAfter, finishedAt, type JobFailures } from "./back-off.ts";
import { JobIndexes } from "./indexes.ts";
import { allFailures, failsIndex, hasFailed, indexOf, isIndexed, isTerminating, isTracked } from "./pods.ts";
import { matchPodFailurePolicy, matchSuccessPolicy } from "./policies.ts";

/** Uids that a status holds at most: more pods wait for the next round. */
const maxUncounted = 500;

/** Conditions that a Job is finished with, and those that come before them. */
const finals: Readonly<Record<string, string>> = { FailureTarget: "Failed", SuccessCriteriaMet: "Complete" };

export function isFinished({ status }: Job): boolean {
  return finalCondition(status?.conditions) !== undefined;
}

/** `Complete` or `Failed`, if the Job has it. */
export function finalCondition(conditions: readonly JobCondition[] | undefined): JobCondition | undefined {
  return conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
}

/**
 * Computes the status of a Job from its pods. Has no effects.
 *
 * Upstream: pkg/controller/job/job_controller.go, syncJob and trackJobStatusAndRemoveFinalizers.
 */
export class JobEvaluation {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly failures: JobFailures;
  /** Pods that have succeeded and failed, those that are not in the status yet included. */
  readonly succeeded: number;
  readonly failed: number;
  readonly indexes: JobIndexes;
  readonly failedIndexes: JobIndexes | undefined;
  /** By index: the failed pod whose successor takes over its counts. */
  readonly replaced: ReadonlyMap<number, Pod>;
  readonly #now: number;
  /** The status that the round began with, and what it becomes. */
  status: JobStatus;

  constructor(job: Job, pods: readonly Pod[], failures: JobFailures | undefined, now: number) {
    this.job = job;
    this.pods = isIndexed(job) ? [...pods].sort((a, b) => this.#order(a) - this.#order(b)) : pods;
    this.active = this.pods.filter(isPodActive);
    this.#now = now;
    const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
    this.status = {
      ...job.status,
      conditions: [...(job.status?.conditions ?? [])],
      uncountedTerminatedPods: { succeeded: [...succeeded], failed: [...failed] },
    };
    if (this.status.startTime === undefined && job.spec.suspend !== true)
      this.status.startTime = timeText(now);
    const uncounted = this.pods.filter((pod) => isTracked(pod) && this.#hasPlace(pod));
    const newlySucceeded = uncounted.filter(
      ({ metadata, status }) => status?.phase === "Succeeded" && !succeeded.includes(metadata.uid),
    );
    const newlyFailed = uncounted.filter((pod) => hasFailed(job, pod) && !failed.includes(pod.metadata.uid));
    this.failures = failuresAfter(failures, newlySucceeded, newlyFailed);
    const counted = newlyFailed.filter((pod) => matchPodFailurePolicy(job, pod).counts);
    this.failed = (job.status?.failed ?? 0) + failed.length + counted.length;
    const before = JobIndexes.parse(job.status?.completedIndexes, job.spec.completions ?? 0);
    this.indexes = isIndexed(job)
      ? before.with(
          uncounted
            .filter(({ status }) => status?.phase === "Succeeded")
            .flatMap((pod) => indexOf(job, pod) ?? []),
        )
      : JobIndexes.none;
    this.succeeded = isIndexed(job)
      ? this.indexes.size
      : (job.status?.succeeded ?? 0) + succeeded.length + newlySucceeded.length;
    const perIndex = isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined;
    this.failedIndexes = perIndex
      ? JobIndexes.parse(job.status?.failedIndexes, job.spec.completions ?? 0).with(
          uncounted.filter((pod) => failsIndex(job, pod)).flatMap((pod) => indexOf(job, pod) ?? []),
        )
      : undefined;
    this.replaced = perIndex ? this.#findReplaced(uncounted) : new Map();
  }

  #order(pod: Pod): number {
    return indexOf(this.job, pod) ?? -1;
  }

  /** In an indexed Job only pods with a valid index count. */
  #hasPlace(pod: Pod): boolean {
    return !isIndexed(this.job) || indexOf(this.job, pod) !== undefined;
  }

  /** Their finalizer stays until the successor, which counts on from them, has been made. */
  #findReplaced(pods: readonly Pod[]): Map<number, Pod> {
    const active = new Set(this.active.map((pod) => indexOf(this.job, pod)));
    const result = new Map<number, Pod>();
    for (const pod of pods) {
      const index = indexOf(this.job, pod);
      if (index === undefined || !hasFailed(this.job, pod) || active.has(index)) continue;
      if (this.indexes.has(index) || this.failedIndexes?.has(index)) continue;
      const other = result.get(index);
      const newer =
        other === undefined ||
        (allFailures(other) <= allFailures(pod) && finishedAt(pod) >= finishedAt(other));
      if (newer) result.set(index, pod);
    }
    return result;
  }

  condition(type: string, status: "True" | "False", reason: string, message: string): JobCondition {
    const now = timeText(this.#now);
    return { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message };
  }

  #has(type: string): JobCondition | undefined {
    return this.status.conditions?.find((each) => each.type === type && each.status === "True");
  }

  /** The condition by which the Job ends, decided now or in an earlier sync; undefined: it continues. */
  verdict(): JobCondition | undefined {
    const { spec } = this.job;
    const met = this.#has("SuccessCriteriaMet");
    if (met !== undefined) return met;
    const target = this.#has("FailureTarget");
    if (target !== undefined) return target;
    const fail = (reason: string, message: string): JobCondition =>
      this.condition("FailureTarget", "True", reason, message);
    for (const pod of this.pods) {
      if (!hasFailed(this.job, pod)) continue;
      const { message } = matchPodFailurePolicy(this.job, pod);
      if (message !== undefined) return fail("PodFailurePolicy", message);
    }
    if (this.failed > (spec.backoffLimit ?? 6) || this.#restartsTooOften())
      return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    const left = this.untilDeadline();
    if (left !== undefined && left <= 0)
      return fail("DeadlineExceeded", "Job was active longer than specified deadline");
    if (!isIndexed(this.job)) return undefined;
    const failed = this.failedIndexes?.size ?? 0;
    if (failed > (spec.maxFailedIndexes ?? Number.POSITIVE_INFINITY))
      return fail(
        "MaxFailedIndexesExceeded",
        "Job has exceeded the specified maximal number of failed indexes",
      );
    if (failed > 0 && failed + this.indexes.size >= (spec.completions ?? 0))
      return fail("FailedIndexes", "Job has failed indexes");
    const why = matchSuccessPolicy(this.job, this.indexes);
    return why === undefined ? undefined : this.condition("SuccessCriteriaMet", "True", "SuccessPolicy", why);
  }

  /** Milliseconds until the Job has been active too long. */
  untilDeadline(): number | undefined {
    const { activeDeadlineSeconds: seconds, suspend } = this.job.spec;
    if (seconds === undefined || suspend === true || this.status.startTime === undefined) return undefined;
    return Date.parse(this.status.startTime) + Number(seconds) * 1000 - this.#now;
  }

  /** Reports whether restarts in place, each of which is a failure, exceed the back-off limit. */
  #restartsTooOften(): boolean {
    const { template, backoffLimit = 6 } = this.job.spec;
    if (template.spec?.restartPolicy !== "OnFailure") return false;
    let restarts = 0;
    for (const { status } of this.pods) {
      if (status?.phase !== "Running" && status?.phase !== "Pending") continue;
      for (const { restartCount } of [
        ...(status.initContainerStatuses ?? []),
        ...(status.containerStatuses ?? []),
      ])
        restarts += restartCount;
    }
    return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
  }

  /** Returns how many pods should be active. */
  wanted(): number {
    const { completions, parallelism = 1 } = this.job.spec;
    if (completions === undefined) return this.succeeded > 0 ? this.active.length : parallelism;
    return Math.max(0, Math.min(completions - this.succeeded, parallelism));
  }

  isComplete(active: number): boolean {
    const { completions } = this.job.spec;
    return active === 0 && this.succeeded >= (completions ?? 1);
  }

  /** Indexes that pods are to be made for, lowest first. */
  pendingIndexes(count: number): number[] {
    const busy = this.pods.filter(
      (pod) => isPodActive(pod) || (this.job.spec.podReplacementPolicy === "Failed" && isTerminating(pod)),
    );
    const indexes = busy.flatMap((pod) => indexOf(this.job, pod) ?? []);
    return this.indexes
      .with(indexes)
      .and(this.failedIndexes ?? JobIndexes.none)
      .missing(count, this.job.spec.completions ?? 0);
  }

  /** Failures of an index when this pod, its last, has failed. */
  failuresOf(pod: Pod): JobFailures {
    return { count: allFailures(pod) + 1, last: finishedAt(pod) };
  }

  /**
   * Sets `Suspended` as the spec says; true if it has changed. Nothing says that a Job was never suspended.
   */
  setSuspended(): boolean {
    const suspended = this.job.spec.suspend === true;
    const conditions = this.status.conditions ?? [];
    const old = conditions.find(({ type }) => type === "Suspended");
    if (old === undefined ? !suspended : (old.status === "True") === suspended) return false;
    const condition = suspended
      ? this.condition("Suspended", "True", "JobSuspended", "Job suspended")
      : this.condition("Suspended", "False", "JobResumed", "Job resumed");
    this.status.conditions =
      old === undefined
        ? [...conditions, condition]
        : conditions.map((each) => (each === old ? condition : each));
    // Its deadline counts from when it is resumed.
    if (suspended) delete this.status.startTime;
    else this.status.startTime = timeText(this.#now);
    return true;
  }

  /** Counts of active, ready and terminating pods, after this number of deletions and creations. */
  count(made: number, deleted: readonly Pod[]): void {
    const terminating = this.pods.filter(isTerminating).length + deleted.length;
    this.status = {
      ...this.status,
      active: this.active.length + made - deleted.length,
      ready: this.active.filter(isPodReady).length - deleted.filter(isPodReady).length,
      terminating,
    };
    if (this.status.active === 0) delete this.status.active;
  }

  /**
   * Enters the pods that have ended into the status; returns those whose finalizer may go when that is
   * written, and whether these are all.
   */
  track(verdict: JobCondition | undefined): { readonly released: Pod[]; readonly all: boolean } {
    const uncounted = this.status.uncountedTerminatedPods ?? {};
    const { succeeded = [], failed = [] } = uncounted;
    const known = new Set([...succeeded, ...failed]);
    const before = JobIndexes.parse(this.job.status?.completedIndexes, this.job.spec.completions ?? 0);
    const indexes: number[] = [];
    const released: Pod[] = [];
    let all = true;
    this.settle(this.pods.filter(isTracked));
    for (const pod of this.pods) {
      if (!isTracked(pod) || !this.#mayRelease(pod, verdict)) continue;
      if (indexes.length + this.#uncounted >= maxUncounted) {
        all = false;
        break;
      }
      released.push(pod);
      if (known.has(pod.metadata.uid)) continue;
      if (pod.status?.phase === "Succeeded") {
        const index = indexOf(this.job, pod);
        if (!isIndexed(this.job)) this.#add("succeeded", pod);
        else if (index !== undefined && !before.has(index)) indexes.push(index);
      } else if (this.#countsAsFailed(pod, verdict)) this.#add("failed", pod);
    }
    if (isIndexed(this.job)) this.#writeIndexes(before.with(indexes));
    this.#enter(verdict);
    return { released, all };
  }

  get #uncounted(): number {
    const { succeeded = [], failed = [] } = this.status.uncountedTerminatedPods ?? {};
    return succeeded.length + failed.length;
  }

  #add(list: "succeeded" | "failed", { metadata }: Pod): void {
    const uncounted = this.status.uncountedTerminatedPods ?? {};
    this.status.uncountedTerminatedPods = {
      ...uncounted,
      [list]: [...(uncounted[list] ?? []), metadata.uid],
    };
  }

  #mayRelease(pod: Pod, verdict: JobCondition | undefined): boolean {
    if (this.job.metadata.deletionTimestamp !== undefined || verdict !== undefined) return true;
    if (pod.status?.phase === "Succeeded") return true;
    if (!hasFailed(this.job, pod)) return false;
    const index = indexOf(this.job, pod);
    return index === undefined || this.replaced.get(index) !== pod;
  }

  /** When a Job fails, every pod that has not ended counts as failed. */
  #countsAsFailed(pod: Pod, verdict: JobCondition | undefined): boolean {
    const failed =
      hasFailed(this.job, pod) || (verdict !== undefined && verdict.type !== "SuccessCriteriaMet");
    return failed && this.#hasPlace(pod) && matchPodFailurePolicy(this.job, pod).counts;
  }

  #writeIndexes(completed: JobIndexes): void {
    const { completedIndexes: _, succeeded: __, ...rest } = this.status;
    this.status = {
      ...rest,
      ...(completed.size === 0 ? {} : { succeeded: completed.size, completedIndexes: completed.toString() }),
      ...(this.failedIndexes === undefined ? {} : { failedIndexes: this.failedIndexes.toString() }),
    };
  }

  /** The interim condition, which is written before the finalizers go. */
  #enter(verdict: JobCondition | undefined): void {
    if (verdict === undefined || this.#has(verdict.type) !== undefined) return;
    this.status.conditions = [...(this.status.conditions ?? []), verdict];
  }

  /** Moves uids of pods that have no finalizer any more to the counters. */
  settle(held: readonly Pod[]): void {
    const uids = new Set(held.map(({ metadata }) => metadata.uid));
    const { succeeded = [], failed = [] } = this.status.uncountedTerminatedPods ?? {};
    const left = {
      succeeded: succeeded.filter((uid) => uids.has(uid)),
      failed: failed.filter((uid) => uids.has(uid)),
    };
    const counts = {
      succeeded: (this.status.succeeded ?? 0) + succeeded.length - left.succeeded.length,
      failed: (this.status.failed ?? 0) + failed.length - left.failed.length,
    };
    const { succeeded: _, failed: __, ...rest } = this.status;
    this.status = {
      ...rest,
      ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      uncountedTerminatedPods: Object.fromEntries(Object.entries(left).filter(([, list]) => list.length > 0)),
    };
  }

  /** The final condition, when nothing is left to be counted or to end. */
  finish(verdict: JobCondition): JobCondition | undefined {
    if (this.#uncounted > 0 || (this.status.terminating ?? 0) > 0) return undefined;
    const { reason = "", message = "" } = verdict;
    const final = this.condition(finals[verdict.type]!, "True", reason, message);
    this.status = {
      ...this.status,
      conditions: [...(this.status.conditions ?? []), final],
      ...(final.type === "Complete" ? { completionTime: timeText(this.#now) } : {}),
    };
    return final;
  }
}
