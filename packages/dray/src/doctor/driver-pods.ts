import type { Pod, PodSpec } from "@dray/api/core/v1";
import { controllerOf, isDone } from "@dray/controllers/objects";
import type { World } from "../manifests/world.ts";
import { kubectl } from "./finding.ts";

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

/**
 * Returns the command that restarts the driver of a node: it registers and publishes its pools anew. Where
 * several pods may be the driver's, those that show them.
 */
export function restartDriver(world: World, node: string, driver: string): string[] {
  const all = world
    .all("Pod")
    .map(({ object }) => object)
    .filter((pod) => pod.spec.nodeName === node && isDriverPod(pod) && !isDone(pod));
  const named = all.filter(({ spec }) => mountedDrivers(spec).includes(driver));
  const [pod, other] = named.length > 0 ? named : all;
  // A pod without a controller would not come back.
  if (pod !== undefined && other === undefined && controllerOf(pod) !== undefined)
    return [kubectl("delete", pod)];
  return [
    `kubectl get pods -A --field-selector=spec.nodeName=${node} -o wide`,
    `kubectl describe node ${node}`,
  ];
}

/** The uid of what has made the pod; its own for a pod without. */
export const setOf = (pod: Pod): string => controllerOf(pod)?.uid ?? pod.metadata.uid;

export const isReady = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
