import type { ContainerStatus, Pod } from "@dray/api/core/v1";

/** Reasons of a waiting container that is not begun. */
const notBegun: ReadonlySet<string> = new Set(["", "PodInitializing", "ContainerCreating"]);

/**
 * Reports whether the kubelet has made the pod's sandbox: claims are prepared and volumes are mounted before.
 * Upstream: kuberuntime_manager.go, SyncPod (PrepareDynamicResources precedes createPodSandbox); KEP-3085.
 */
export function hasSandbox({ status }: Pod): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
  if (condition !== undefined) return condition.status === "True";
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].some(isBegun);
}

const isBegun = ({ state, lastState }: ContainerStatus): boolean =>
  state?.running !== undefined ||
  state?.terminated !== undefined ||
  lastState?.terminated !== undefined ||
  !notBegun.has(state?.waiting?.reason ?? "");
