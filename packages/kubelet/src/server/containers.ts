import type { Pod } from "@dray/api/core/v1";
import type { Container, RuntimeService } from "../runtime/service.ts";

/** The node's pod of a name. */
export function findPod(pods: readonly Pod[], namespace: string, name: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

/** The containers of a name that the runtime has of a pod, the latest first. */
export function containersOf(runtime: RuntimeService, podUid: string, name: string): Container[] {
  const sandboxes = new Set(
    runtime
      .listPodSandboxes()
      .filter(({ config }) => config.uid === podUid)
      .map(({ id }) => id),
  );
  return runtime
    .listContainers()
    .filter(({ sandboxId, config }) => sandboxes.has(sandboxId) && config.name === name)
    .sort((a, b) => b.config.attempt - a.config.attempt);
}
