import type { Pod } from "@dray/api/core/v1";
import type { Container, RuntimeService } from "../runtime/service.ts";
import type { ResizedContainer } from "./resize.ts";
import { type BoundsOptions, containerMemoryLimit, podResources } from "./resource-config.ts";

/** A pod that is about to be resized. */
export interface PodChange {
  /** With the actuated resources of its containers and its sandbox. */
  readonly before: Pod;
  /** With the wanted resources. */
  readonly pod: Pod;
  readonly outdated: readonly ResizedContainer[];
  /** By name, latest first. */
  readonly containers: ReadonlyMap<string, readonly Container[]>;
}

/**
 * Throws if a memory limit would fall below the usage, before anything is changed: the kernel would refuse
 * it, or kill the pod. Counts the working set, since the system reclaims the rest. Containers without
 * statistics do not count, nor those that are restarted.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, validateMemoryResizeAction.
 */
export async function checkMemoryShrinks(
  runtime: RuntimeService,
  { before, pod, outdated, containers }: PodChange,
  options: BoundsOptions,
): Promise<void> {
  const podLimit = shrunk(
    podResources(before, options).memoryLimitBytes,
    podResources(pod, options).memoryLimitBytes,
  );
  const limits = new Map<string, number>();
  for (const { spec, container, restart } of outdated) {
    if (restart) continue;
    const { name } = spec;
    const own = [...(before.spec.initContainers ?? []), ...before.spec.containers].find(
      (one) => one.name === name,
    );
    const old = own && containerMemoryLimit(before, own, options);
    const limit = shrunk(old, containerMemoryLimit(pod, spec, options));
    if (limit !== undefined) limits.set(container.id, limit);
  }
  if (podLimit === undefined && limits.size === 0) return;
  const names = new Map(
    [...containers].flatMap(([name, all]) => all.map(({ id }): [string, string] => [id, name])),
  );
  const ending = new Set(outdated.filter(({ restart }) => restart).map(({ container }) => container.id));
  const used = (await runtime.listContainerStats()).filter(
    ({ containerId }) => names.has(containerId) && !ending.has(containerId),
  );
  const problems: string[] = [];
  const below = (what: string, limit: number, usage: number): void => {
    if (usage >= limit)
      problems.push(`attempting to set ${what} memory limit (${limit}) below current usage (${usage})`);
  };
  if (podLimit !== undefined)
    below(
      "pod",
      podLimit,
      used.reduce((sum, { memoryWorkingSetBytes: bytes }) => sum + bytes, 0),
    );
  for (const { containerId, memoryWorkingSetBytes } of used) {
    const limit = limits.get(containerId);
    if (limit !== undefined) below(`container "${names.get(containerId)}"`, limit, memoryWorkingSetBytes);
  }
  if (problems.length === 0) return;
  const list = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
  throw new Error(`cannot decrease memory limits: ${list}`);
}

/** Returns the new limit if it is less than the old one; undefined means unlimited. */
function shrunk(before: number | undefined, after: number | undefined): number | undefined {
  return after !== undefined && (before === undefined || after < before) ? after : undefined;
}
