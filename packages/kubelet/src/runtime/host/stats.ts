import type { Clock } from "@dray/client";
import type { ContainerStats } from "../service.ts";
import { statsOf } from "./bounds.ts";
import type { HostContainer } from "./container.ts";
import type { ProcessFamily } from "./processes.ts";
import type { ProcessUsage } from "./usage.ts";

/** Statistics of running containers: from their cgroups where these count, else from their processes. */
export async function containerStats(
  containers: readonly HostContainer[],
  usage: ProcessUsage,
  clock: Clock,
): Promise<ContainerStats[]> {
  const families = new Map<string, ProcessFamily>();
  const counted: ContainerStats[] = [];
  for (const { record, family } of containers) {
    const stats = statsOf(record.bounds ?? []);
    if (stats !== undefined) counted.push({ containerId: record.id, at: clock.now(), ...stats });
    else if (family !== undefined) families.set(record.id, family);
  }
  const at = clock.now();
  const measured = await usage.measure(families);
  return [...counted, ...[...measured].map(([containerId, one]) => ({ containerId, at, ...one }))];
}
