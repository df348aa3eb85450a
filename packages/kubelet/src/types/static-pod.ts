import type { Pod } from "@dray/api/core/v1";

// Upstream: pkg/kubelet/types/pod_update.go.
export const hashAnnotation = "kubernetes.io/config.hash";
export const mirrorAnnotation = "kubernetes.io/config.mirror";
export const sourceAnnotation = "kubernetes.io/config.source";
export const seenAnnotation = "kubernetes.io/config.seen";

/** True for the API object that shows a static pod; the kubelet does not run it. */
export function isMirrorPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[mirrorAnnotation] !== undefined;
}

/** True for a pod of a manifest. */
export function isStaticPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[sourceAnnotation] === "file";
}
