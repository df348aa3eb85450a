import { setTimeout as sleep } from "node:timers/promises";
import { Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { dray } from "../harness.ts";
import type { ChaosCluster } from "./cluster.ts";
import { escapedProcesses, leftOnNodes } from "./leftovers.ts";
import { namespace } from "./pods.ts";

/** Waits until no pod of the run is left, and nothing of one; returns what is left in the end. */
export async function comesToRest(cluster: ChaosCluster, seconds: number): Promise<string[]> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const left: string[] = [];
    try {
      const pods = await cluster.client.resource(Pod).list();
      const kept = pods.items.filter(({ metadata }) => metadata.namespace !== namespace);
      left.push(
        ...pods.items
          .filter(({ metadata }) => metadata.namespace === namespace)
          .map(({ metadata, status }) => `pod ${metadata.name} is still ${status?.phase}`),
        ...leftOnNodes(cluster, new Set(kept.map(({ metadata }) => metadata.uid))),
        ...escapedProcesses().map((line) => `a process that left its pod still runs: ${line}`),
      );
      const claims = await cluster.client.resource(ResourceClaim).list({ namespace });
      for (const { metadata, status } of claims.items)
        if (status?.allocation !== undefined || metadata.ownerReferences !== undefined)
          left.push(`claim ${metadata.name} is still there or allocated`);
      const nodes = await cluster.client.resource(Node).list();
      for (const { metadata, status } of nodes.items)
        if (!status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"))
          left.push(`node ${metadata.name} is not ready`);
    } catch (error) {
      left.push(`the server does not answer: ${(error as Error).message}`);
    }
    if (left.length === 0) return [];
    if (performance.now() > deadline) return left.map((one) => `after ${seconds} s: ${one}`);
    await sleep(1000);
  }
}

/** Lines of the logs that no run may have: a process ended by itself, or an error that nobody expected. */
export function unreadableEnds(cluster: ChaosCluster): string[] {
  const telling =
    /unhandled|uncaught|FATAL ERROR|heap out of memory|Maximum call stack|is not a function|Cannot read prop/i;
  return [...new Set(cluster.logLines().filter((line) => telling.test(line)))]
    .slice(0, 10)
    .map((line) => `the log says: ${line.slice(0, 300)}`);
}

/** What `dray doctor` finds once everything is at rest. */
export async function diagnosed({ layout }: ChaosCluster): Promise<string[]> {
  const { stdout, stderr, code } = await dray(["doctor", "--kubeconfig", layout.kubeconfig]);
  return code === 0 ? [] : [`dray doctor ends with ${code}:\n${stderr}${stdout}`];
}
