/** Validation of a job's status: a finished job stays finished, and the counts are consistent. */

import { checkCounts } from "../../../checks/counts.ts";
import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkObjectUpdate } from "../../../checks/objects.ts";
import type { Job, JobStatus } from "../../../generated/batch/v1.ts";
import { commonIndex, indexProblem, parseIndexes } from "./indexes.ts";

const isTrue = (job: Job, type: string): boolean =>
  (job.status?.conditions ?? []).some((condition) => condition.type === type && condition.status === "True");
const isFinished = (job: Job): boolean => isTrue(job, "Complete") || isTrue(job, "Failed");

/**
 * Whether the two jobs differ in any of these fields of their status, or in whether these conditions hold.
 */
function differ(
  job: Job,
  old: Job,
  fields: readonly (keyof JobStatus)[],
  conditions: readonly string[] = [],
): boolean {
  return (
    fields.some((field) => !sameValue(job.status?.[field], old.status?.[field])) ||
    conditions.some((type) => isTrue(job, type) !== isTrue(old, type))
  );
}

function checkUncounted(errors: FieldErrors, { status }: Job): void {
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"] as const) {
    (status?.uncountedTerminatedPods?.[list] ?? []).forEach((uid, index) => {
      const here = errors.at("status.uncountedTerminatedPods").at(list).index(index);
      if (uid === "") here.invalid(uid, "must not be empty");
      else if (seen.has(uid)) here.duplicate(uid);
      seen.add(uid);
    });
  }
}

function checkEnd(errors: FieldErrors, job: Job, old: Job): void {
  const here = errors.at("status.conditions");
  const complete = isTrue(job, "Complete");
  const failed = isTrue(job, "Failed");
  const failing = isTrue(job, "FailureTarget");
  if (complete && failed && differ(job, old, [], ["Complete", "Failed"]))
    here.wrong("cannot set Complete=True and Failed=true conditions");
  if (complete && failing && differ(job, old, [], ["Complete", "FailureTarget"]))
    here.wrong("cannot set Complete=True and FailureTarget=true conditions");
  const { completionTime, startTime } = job.status ?? {};
  if (differ(job, old, ["completionTime"], ["Complete"])) {
    if (completionTime && !complete) {
      const detail = "cannot set completionTime when there is no Complete=True condition";
      errors.at("status.completionTime").invalid(completionTime, detail);
    }
    if (!completionTime && complete)
      errors.at("status.completionTime").required("completionTime is required for Complete jobs");
  }
  const times = differ(job, old, ["startTime", "completionTime"]);
  if (times && startTime && completionTime && completionTime < startTime) {
    errors.at("status.completionTime").invalid(completionTime, "must be equal to or after `startTime`");
  }
  if (failed && !failing && differ(job, old, ["failedIndexes"], ["Failed"]))
    here.wrong("cannot set Failed=True condition without the FailureTarget=true condition");
  if (
    complete &&
    !isTrue(job, "SuccessCriteriaMet") &&
    differ(job, old, [], ["Complete", "SuccessCriteriaMet"])
  )
    here.wrong("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
}

function checkFinished(errors: FieldErrors, job: Job, old: Job): void {
  if (!isFinished(job)) return;
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = job.status ?? {};
  const now = !isFinished(old);
  if (active > 0 && (now || differ(job, old, ["active"])))
    errors.at("status.active").invalid(active, "active>0 is invalid for finished job");
  const idle = job.spec?.suspend === true && job.spec.completions === 0;
  if (!startTime && !idle && (now || differ(job, old, ["startTime"])))
    errors.at("status.startTime").required("startTime is required for finished job");
  const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
  if (left > 0 && (now || differ(job, old, ["uncountedTerminatedPods"])))
    errors
      .at("status.uncountedTerminatedPods")
      .invalid(
        internalForm("batch/v1.UncountedTerminatedPods", uncounted, errors),
        "must be empty for finished job",
      );
}

function checkIndexes(errors: FieldErrors, job: Job, old: Job): void {
  const { completions, completionMode, backoffLimitPerIndex } = job.spec ?? {};
  const { completedIndexes: done = "", failedIndexes: failed } = job.status ?? {};
  const limited = backoffLimitPerIndex !== undefined && backoffLimitPerIndex !== null;
  const [doneChanged, failedChanged] = [
    differ(job, old, ["completedIndexes"]),
    differ(job, old, ["failedIndexes"]),
  ];
  const problem = (text: string): string | undefined =>
    completions === undefined ? undefined : indexProblem(text, completions);
  const [doneProblem, failedProblem] = [problem(done), failed === undefined ? undefined : problem(failed)];
  if (doneChanged && doneProblem !== undefined)
    errors.at("status.completedIndexes").invalid(done, `error parsing completedIndexes: ${doneProblem}`);
  if (failedChanged && limited && failedProblem !== undefined)
    errors.at("status.failedIndexes").invalid(failed, `error parsing failedIndexes: ${failedProblem}`);
  if (doneChanged && done !== "" && completionMode !== "Indexed") {
    const detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
    errors.at("status.completedIndexes").invalid(done, detail);
  }
  if (failed === undefined) return;
  if (failedChanged && !limited) {
    const detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
    errors.at("status.failedIndexes").invalid(failed, detail);
  }
  if (!(doneChanged || failedChanged) || completions === undefined) return;
  if (doneProblem !== undefined || failedProblem !== undefined) return;
  const common = commonIndex(parseIndexes(done, completions), parseIndexes(failed, completions));
  if (common === undefined) return;
  errors
    .at("status.failedIndexes")
    .invalid(failed, `failedIndexes and completedIndexes overlap at index: ${common}`);
}

function checkPods(errors: FieldErrors, job: Job, old: Job): void {
  const { terminating, ready, active = 0 } = job.status ?? {};
  const ended = isFinished(job) && (!isFinished(old) || differ(job, old, ["terminating"]));
  if (ended && (terminating ?? 0) > 0)
    errors.at("status.terminating").invalid(terminating, "terminating>0 is invalid for finished job");
  if (typeof ready === "number" && ready > active && differ(job, old, ["ready", "active"]))
    errors.at("status.ready").invalid(ready, "cannot set more ready pods than active");
}

function checkCriteria(errors: FieldErrors, job: Job): void {
  const here = errors.at("status.conditions");
  const met = isTrue(job, "SuccessCriteriaMet");
  if (met && isTrue(job, "Failed"))
    here.wrong("cannot set SuccessCriteriaMet=True and Failed=true conditions");
  if (met && isTrue(job, "FailureTarget"))
    here.wrong("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  if (job.spec?.successPolicy && !met && isTrue(job, "Complete"))
    here.wrong("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
}

/** Checks that terminal conditions and times are kept, and that counters do not decrease. */
function checkHistory(errors: FieldErrors, job: Job, old: Job): void {
  const here = errors.at("status.conditions");
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    if (isTrue(old, type) && !isTrue(job, type))
      here.wrong(`cannot disable the terminal ${type}=True condition`);
  }
  const { failed = 0, succeeded = 0, completionTime, startTime } = job.status ?? {};
  const { spec } = job;
  if (failed < (old.status?.failed ?? 0))
    errors.at("status.failed").invalid(failed, "cannot decrease the failed counter");
  const elastic = spec?.completionMode === "Indexed" && spec.completions === spec.parallelism;
  if (!elastic && succeeded < (old.status?.succeeded ?? 0))
    errors.at("status.succeeded").invalid(succeeded, "cannot decrease the succeeded counter");
  const before = old.status?.completionTime;
  if (completionTime && before && completionTime !== before)
    errors.at("status.completionTime").invalid(completionTime, "field is immutable");
  const suspended = (which: Job): boolean => isTrue(which, "Suspended");
  const resuming =
    suspended(old) &&
    (job.status?.conditions ?? []).some(({ type, status }) => type === "Suspended" && status === "False");
  const started = old.status?.startTime;
  if (started && startTime !== started && !spec?.suspend && !resuming) {
    const detail = "field is immutable for unsuspended job once set";
    errors.at("status.startTime").invalid(startTime ?? null, detail);
  }
  const [met, was] = [isTrue(job, "SuccessCriteriaMet"), isTrue(old, "SuccessCriteriaMet")];
  if (was && !met) here.wrong("cannot disable the SuccessCriteriaMet=True condition");
  if (isTrue(old, "Complete") && !was && met)
    here.wrong("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

export function checkJobStatus(errors: FieldErrors, job: Job, old: Job): void {
  checkObjectUpdate(errors, job, old);
  checkCounts(errors, job.status, ["active", "succeeded", "failed", "ready", "terminating"]);
  checkUncounted(errors, job);
  checkEnd(errors, job, old);
  checkFinished(errors, job, old);
  checkIndexes(errors, job, old);
  checkPods(errors, job, old);
  checkCriteria(errors, job);
  checkHistory(errors, job, old);
}
