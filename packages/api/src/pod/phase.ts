import type { Pod } from "../generated/core/v1.ts";

/** A pod as far as its phase goes. */
export type PodWithPhase = { readonly status?: { readonly phase?: string } | undefined };

/**
 * The phase says that no container of the pod runs and none will.
 * Upstream: pkg/api/v1/pod/util.go, IsPodTerminal.
 */
export function isPodTerminal(pod: PodWithPhase): boolean {
  const phase = pod.status?.phase;
  return phase === "Succeeded" || phase === "Failed";
}

/**
 * Neither terminal nor being deleted: a controller counts such pods among its own.
 * Upstream: pkg/controller/controller_utils.go, IsPodActive.
 */
export function isPodActive(pod: Pick<Pod, "metadata" | "status">): boolean {
  return !isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Upstream: pkg/api/v1/pod/util.go, IsPodReady. The first condition of the type counts. */
export function isPodReady(pod: Pick<Pod, "status">): boolean {
  return pod.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
}
