import { tolerates } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { podQosClass } from "@dray/api/pod";
import { systemCriticalPriority } from "../types/priority.ts";
import type { Refusal } from "../types/refusal.ts";
import { isMirrorPod, isStaticPod } from "../types/static-pod.ts";
import type { PressureCondition } from "./signals.ts";

/**
 * True for pods that are neither evicted nor refused. Upstream: pkg/kubelet/types/pod_update.go,
 * IsCriticalPod.
 */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || Number(pod.spec.priority ?? 0) >= systemCriticalPriority;
}

/**
 * Returns why a node under pressure does not admit a pod. If only memory is short, it admits pods that
 * request memory or tolerate the taint.
 *
 * Upstream: pkg/kubelet/eviction/eviction_manager.go, Admit.
 */
export function refuseUnderPressure(
  pod: Pod,
  conditions: ReadonlySet<PressureCondition>,
): Refusal | undefined {
  if (conditions.size === 0 || isCriticalPod(pod)) return undefined;
  if (conditions.has("MemoryPressure") && conditions.size === 1) {
    if (podQosClass(pod) !== "BestEffort") return undefined;
    const taint = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };
    if (pod.spec.tolerations?.some((toleration) => tolerates(toleration, taint))) return undefined;
  }
  return { reason: "Evicted", message: `The node had condition: [${[...conditions].join(" ")}]. ` };
}
