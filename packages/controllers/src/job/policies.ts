import type { Job, PodFailurePolicyOnExitCodesRequirement } from "@dray/api/batch/v1";
import type { ContainerStatus, Pod } from "@dray/api/core/v1";
import { JobIndexes } from "./indexes.ts";

/** Result of the pod failure policy for a failed pod. */
export interface PodFailurePolicyMatch {
  /** Whether the failure counts towards the limits of the Job. */
  readonly counts: boolean;
  readonly action?: string;
  /** Why the whole Job fails. */
  readonly message?: string;
}

function failedContainer(
  statuses: readonly ContainerStatus[] | undefined,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement,
): ContainerStatus | undefined {
  return (statuses ?? []).find(({ name, state }) => {
    const code = state?.terminated?.exitCode;
    if (code === undefined || code === 0) return false;
    if (containerName !== undefined && containerName !== name) return false;
    return operator === "In" ? values.includes(code) : operator === "NotIn" && !values.includes(code);
  });
}

/** The first rule that matches decides. Upstream: pkg/controller/job/pod_failure_policy.go. */
export function matchPodFailurePolicy({ spec }: Job, pod: Pod): PodFailurePolicyMatch {
  const { name, namespace } = pod.metadata;
  for (const [index, { action, onExitCodes, onPodConditions }] of (
    spec.podFailurePolicy?.rules ?? []
  ).entries()) {
    let why: string;
    if (onExitCodes !== undefined) {
      const container =
        failedContainer(pod.status?.containerStatuses, onExitCodes) ??
        failedContainer(pod.status?.initContainerStatuses, onExitCodes);
      if (container === undefined) continue;
      why = `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${container.state?.terminated?.exitCode}`;
    } else {
      const condition = pod.status?.conditions?.find(({ type, status }) =>
        onPodConditions?.some((pattern) => pattern.type === type && (pattern.status ?? "True") === status),
      );
      if (condition === undefined) continue;
      why = `Pod ${namespace}/${name} has condition ${condition.type}`;
    }
    const message = `${why} matching ${action} rule at index ${index}`;
    return { counts: action !== "Ignore", action, ...(action === "FailJob" ? { message } : {}) };
  }
  return { counts: true };
}

/**
 * Returns why a Job whose indexes have succeeded so far is a success already. Upstream:
 * pkg/controller/job/success_policy.go.
 */
export function matchSuccessPolicy({ spec }: Job, succeeded: JobIndexes): string | undefined {
  if (succeeded.size === 0) return undefined;
  for (const [index, { succeededIndexes, succeededCount }] of (spec.successPolicy?.rules ?? []).entries()) {
    let met: boolean;
    if (succeededIndexes === undefined) met = succeeded.size >= (succeededCount ?? Number.POSITIVE_INFINITY);
    else {
      const required = JobIndexes.parse(succeededIndexes, spec.completions ?? 0);
      if (required.size === 0) continue;
      met = required.shared(succeeded) >= Math.min(succeededCount ?? required.size, required.size);
    }
    if (met) return `Matched rules at index ${index}`;
  }
  return undefined;
}
