import type { Condition } from "@dray/api/meta/v1";
import type { DeviceTaintRule } from "@dray/api/resource/v1";

export const evictionInProgress = "EvictionInProgress";

/** Pods that an eviction would delete, or has deleted. */
export interface RuleCounts {
  /** Pods that the rule evicts or would evict, and their namespaces. */
  readonly pods: number;
  readonly namespaces: number;
  /** Devices that the rule selects: published ones, and those that claims have. Only for the effect None. */
  readonly published: number;
  readonly allocated: number;
  /** Pods that were deleted because of the rule since the controller began. */
  readonly evicted: number;
}

type Draft = Pick<Condition, "type" | "status" | "reason" | "message"> & { observedGeneration: number };

/**
 * Condition EvictionInProgress of a rule.
 *
 * Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go, maybeUpdateRuleStatus.
 */
export function ruleCondition(rule: DeviceTaintRule, counts: RuleCounts): Draft {
  const { status, reason, message } = judge(rule.spec.taint?.effect ?? "", counts);
  const evicted =
    counts.evicted === 0
      ? ""
      : `${counted(counts.evicted, "pod", "pods")} evicted since starting the controller.`;
  return {
    type: evictionInProgress,
    status,
    reason,
    message: [message, evicted].filter((part) => part !== "").join(" "),
    observedGeneration: Number(rule.metadata.generation ?? 0),
  };
}

function judge(
  effect: string,
  { pods, namespaces, published, allocated, evicted }: RuleCounts,
): { status: "True" | "False"; reason: string; message: string } {
  const where = namespaces === 1 ? "1 namespace" : `${namespaces} different namespaces`;
  if (effect === "NoExecute") {
    if (pods > 0) {
      const what = counted(pods, "pod needs", "pods need");
      return { status: "True", reason: "PodsPendingEviction", message: `${what} to be evicted in ${where}.` };
    }
    return { status: "False", reason: evicted > 0 ? "Completed" : "NotStarted", message: "" };
  }
  if (effect === "None") {
    const message = [
      `${counted(published, "published device", "published devices")} selected.`,
      `${counted(allocated, "allocated device", "allocated devices")} selected.`,
      `${counted(pods, "pod", "pods")} would be evicted in ${where} if the effect was NoExecute.`,
      "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
    ].join(" ");
    return { status: "False", reason: "NoEffect", message };
  }
  return {
    status: "False",
    reason: "OtherEffect",
    message: "Eviction only happens for the NoExecute effect.",
  };
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}
