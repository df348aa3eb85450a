import { cpus, freemem, totalmem } from "node:os";
import type { Pod } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import type { UsageDetails } from "../runtime/cgroup-usage.ts";
import type { RuntimeService } from "../runtime/service.ts";

/** A measurement of the node or of a container. */
export interface Measurement {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** CPU time since the start in nanoseconds. */
  readonly cpuNanoseconds: number;
  /** Working set. */
  readonly memoryBytes: number;
}

export interface MeasuredContainer extends Measurement {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly startedAt: number;
  readonly details: UsageDetails;
}

export interface MeasuredPod {
  readonly pod: Pod;
  /** ID of the sandbox that runs now. */
  readonly sandbox: string;
  /** At least one. */
  readonly containers: readonly MeasuredContainer[];
}

export interface Measured {
  readonly node: Measurement;
  readonly pods: readonly MeasuredPod[];
}

export interface MeasureOptions {
  readonly clock: Clock;
  readonly runtime: RuntimeService;
  pods(): readonly Pod[];
}

/**
 * Measures the node, which is the machine, and the containers of its pods. Those that the runtime does not
 * report are omitted.
 */
export async function measure({ runtime, clock, pods }: MeasureOptions): Promise<Measured> {
  const [containers, stats] = await Promise.all([runtime.listContainers(), runtime.listContainerStats()]);
  const podOf = new Map((await runtime.listPodSandboxes()).map(({ id, config }) => [id, config.uid]));
  const byId = new Map(stats.map((one) => [one.containerId, one]));
  const ofPods = new Map<string, { readonly sandbox: string; readonly containers: MeasuredContainer[] }>();
  for (const { id, sandboxId, config, imageRef, startedAt, createdAt } of containers) {
    const [uid, found] = [podOf.get(sandboxId), byId.get(id)];
    if (uid === undefined || found === undefined) continue;
    const own = ofPods.get(uid) ?? { sandbox: sandboxId, containers: [] };
    ofPods.set(uid, own);
    const { at, cpuNanoseconds, memoryWorkingSetBytes: memoryBytes, details = {} } = found;
    own.containers.push({
      ...{ id, name: config.name, image: imageRef, startedAt: startedAt ?? createdAt },
      ...{ at, cpuNanoseconds, memoryBytes, details },
    });
  }
  const busy = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  const node = { at: clock.now(), cpuNanoseconds: busy * 1e6, memoryBytes: totalmem() - freemem() };
  return {
    node,
    pods: pods().flatMap((pod) => {
      const own = ofPods.get(pod.metadata.uid);
      return own === undefined ? [] : [{ pod, ...own }];
    }),
  };
}
