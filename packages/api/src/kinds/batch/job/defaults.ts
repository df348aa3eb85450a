import type { Job, JobSpec } from "../../../generated/batch/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodTemplate } from "../../core/pod/defaults.ts";

/** Attempts without a limit: int32's largest. */
const unlimited = 2 ** 31 - 1;

function defaultJobSpec(spec: Wire<JobSpec>): void {
  if (spec.completions == null && spec.parallelism == null) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex == null ? 6 : unlimited;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= "True";
  }
  defaultPodTemplate(spec.template);
}

export function defaultJob(job: Wire<Job>): void {
  if (!job.spec) return;
  const labels = job.spec.template?.metadata?.labels;
  if (labels && Object.keys(job.metadata?.labels ?? {}).length === 0) {
    job.metadata ??= {};
    job.metadata.labels = labels;
  }
  defaultJobSpec(job.spec);
}
