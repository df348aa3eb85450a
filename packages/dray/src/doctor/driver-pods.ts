import type { Pod, PodSpec } from "@dray/api/core/v1";
import { controllerOf } from "@dray/controllers/objects";

/** Returns the folders of the machine that a pod mounts. */
const hostPaths = ({ volumes }: PodSpec): string[] =>
  (volumes ?? []).flatMap(({ hostPath }) => hostPath?.path.replace(/\/+$/, "") ?? []);

/** A driver's pods mount the kubelet's plugin registry and a folder of CDI specs. */
export function isDriverPod({ spec }: { readonly spec: PodSpec }): boolean {
  const paths = hostPaths(spec);
  return (
    paths.some((path) => path.endsWith("/plugins_registry")) && paths.some((path) => path.endsWith("/cdi"))
  );
}

/** Returns the drivers whose folders a pod mounts below the kubelet's plugins: by convention their names. */
export const mountedDrivers = (spec: PodSpec): string[] =>
  hostPaths(spec).flatMap((path) => /\/plugins\/([^/]+)$/.exec(path)?.[1] ?? []);

/** The uid of what has made the pod; its own for a pod without. */
export const setOf = (pod: Pod): string => controllerOf(pod)?.uid ?? pod.metadata.uid;

export const isReady = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
