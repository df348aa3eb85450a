import type { Pod } from "@dray/api/core/v1";
import type { Container, RuntimeService } from "../runtime/service.ts";
import { allContainers, type StartableContainer } from "../types/containers.ts";

/** Pod of the node by name. */
export function findPod(pods: readonly Pod[], namespace: string, name: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

/** Containers of a pod by name, latest first. */
export async function containersOf(
  runtime: RuntimeService,
  podUid: string,
  name: string,
): Promise<Container[]> {
  return (await runtime.listContainers(podUid))
    .filter(({ config }) => config.name === name)
    .sort((a, b) => b.config.attempt - a.config.attempt);
}

/** Spec of a container by name. */
export function findContainer(pod: Pod, name: string): StartableContainer | undefined {
  return allContainers(pod).find((container) => container.name === name);
}
