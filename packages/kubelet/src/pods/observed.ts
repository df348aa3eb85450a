import type { Pod } from "@dray/api/core/v1";
import { withExitMessage } from "../containers/exit-message.ts";
import type { Container, RuntimeService, Sandbox } from "../runtime/service.ts";
import { allContainers } from "../types/containers.ts";

/** The sandboxes and containers of a pod. */
export interface Observed {
  /** Latest first. */
  readonly sandboxes: readonly Sandbox[];
  /** By name, latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
}

/** Lists the sandboxes and containers of a pod. `pod` is undefined if only its UID is known. */
export async function observePod(
  runtime: RuntimeService,
  uid: string,
  pod: Pod | undefined,
): Promise<Observed> {
  const [sandboxes, found] = await Promise.all([runtime.listPodSandboxes(uid), runtime.listContainers(uid)]);
  const specs = new Map((pod === undefined ? [] : allContainers(pod)).map((spec) => [spec.name, spec]));
  const containers = await Promise.all(
    found.map((container) => withExitMessage(container, specs.get(container.config.name), runtime)),
  );
  containers.sort((a, b) => b.config.attempt - a.config.attempt);
  return {
    sandboxes: sandboxes.toSorted((a, b) => b.config.attempt - a.config.attempt),
    containers: Map.groupBy(containers, ({ config }) => config.name),
  };
}
