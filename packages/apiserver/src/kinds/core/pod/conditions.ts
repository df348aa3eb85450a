import type { PodCondition, PodStatus } from "@dray/api/core/v1";
import { unset } from "../../../json/unset.ts";

/**
 * Returns a status with a condition set: in the place of the one of its type, else at the end. The time of
 * the transition stays if the state does.
 *
 * Upstream: pkg/api/pod/util.go, UpdatePodCondition
 */
export function withPodCondition(
  status: PodStatus | undefined,
  condition: Pick<PodCondition, "type" | "status" | "reason" | "message">,
  now: string,
): PodStatus {
  const conditions = status?.conditions ?? [];
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const same = before?.status === condition.status;
  const made: PodCondition = {
    ...condition,
    lastProbeTime: unset(),
    lastTransitionTime: same ? (before?.lastTransitionTime ?? unset()) : now,
  };
  return { ...status, conditions: at < 0 ? [...conditions, made] : conditions.with(at, made) };
}
