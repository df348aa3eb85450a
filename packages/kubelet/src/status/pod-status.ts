import type { Pod, PodStatus } from "@dray/api/core/v1";
import { isPodTerminal, isSidecar } from "@dray/api/pod";
import { timeText } from "@dray/client";
import { shortened } from "../base/text.ts";
import { podLevelStatus } from "../resources/pod-level-status.ts";
import { podConditions } from "./conditions.ts";
import { allocatedResources, containerStatus, succeeded } from "./container-status.ts";
import type { StatusInput } from "./status-input.ts";

/** Generates the status of a pod, without fields of other components (claims, nominated node). */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, podIP, nodeAddress } = input;
  const before = pod.status;
  const initContainers = pod.spec.initContainers ?? [];
  const initialized = initContainers.every((spec) => {
    const [latest] = input.containers.get(spec.name) ?? [];
    if (latest === undefined) return false;
    return isSidecar(spec) ? input.started(latest) || latest.state === "exited" : succeeded(latest);
  });
  const anyMain = pod.spec.containers.some(
    ({ name }) => input.containers.has(name) || input.nextAttempts.has(name),
  );
  const initDone = initialized || anyMain;
  const initStatuses = initContainers.map((spec) =>
    containerStatus(spec, input, "PodInitializing", before?.initContainerStatuses),
  );
  // With or without a sandbox. Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses.
  const waitsFor = initContainers.length > 0 ? "PodInitializing" : "ContainerCreating";
  const statuses = pod.spec.containers.map((spec) => ({
    ...containerStatus(spec, input, waitsFor, before?.containerStatuses),
    ...allocatedResources(spec, input),
  }));
  const phase = podPhase(input, initDone);
  const conditions = podConditions(input, { phase, initDone, initStatuses, statuses });
  return {
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    phase,
    conditions,
    ...reasonOf(input),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    startTime: before?.startTime ?? timeText(input.now),
    ...(input.whole === undefined ? {} : podLevelStatus(pod, input.whole)),
    ...(initContainers.length === 0 ? {} : { initContainerStatuses: initStatuses }),
    containerStatuses: statuses,
    ...((pod.spec.ephemeralContainers ?? []).length === 0
      ? {}
      : {
          ephemeralContainerStatuses: (pod.spec.ephemeralContainers ?? []).map((spec) => {
            const old = before?.ephemeralContainerStatuses;
            // Neither readiness nor start applies to ephemeral containers.
            const { started: _, ...status } = containerStatus(spec, input, waitsFor, old);
            return { ...status, ready: false };
          }),
        }),
  };
}

/**
 * Reason of a failed pod, once its phase is terminal; the report of an earlier agent stands.
 *
 * Upstream: pkg/kubelet/status/status_manager.go, mergePodStatus.
 */
function reasonOf({ pod, failure, ended }: StatusInput): Pick<PodStatus, "reason" | "message"> {
  if (!ended) return {};
  if (failure !== undefined) return { reason: failure.reason, message: shortened(failure.message) };
  if (!isPodTerminal(pod)) return {};
  const { reason, message } = pod.status ?? {};
  return { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
}

/**
 * Status of a pod that its node did not admit: only the refusal.
 *
 * Upstream: pkg/kubelet/kubelet.go, rejectPod.
 */
export function rejectedStatus(
  { metadata, status }: Pod,
  refusal: { readonly reason: string; readonly message: string },
  now: number,
): PodStatus {
  return {
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    phase: "Failed",
    reason: refusal.reason,
    message: shortened(refusal.message),
    startTime: status?.startTime ?? timeText(now),
    conditions: [],
  };
}

/**
 * A terminal phase is reported only when all containers have ended and claims are unprepared, since others
 * rely on that.
 */
function podPhase(input: StatusInput, initDone: boolean): string {
  const { pod, failure, containers, ended } = input;
  const latest = pod.spec.containers.map(({ name }) => containers.get(name)?.[0]);
  if (ended) {
    if (isPodTerminal(pod)) return pod.status?.phase ?? "";
    const good = latest.every((container) => container !== undefined && succeeded(container));
    return failure === undefined && good ? "Succeeded" : "Failed";
  }
  // A pod is pending until its first container has started.
  const begun =
    latest.some((container) => container !== undefined && container.state !== "created") ||
    pod.spec.containers.some(({ name }) => input.nextAttempts.has(name));
  return initDone && begun ? "Running" : "Pending";
}
