import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "@dray/api";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { dray } from "../harness.ts";
import type { ChaosCluster } from "./cluster.ts";
import { spacePrefix } from "./crowd-spaces.ts";
import { escapedProcesses, leftOnNodes } from "./leftovers.ts";
import { namespace } from "./pods.ts";

/** Asks until nothing is left; returns what is left in the end. */
async function untilNothing(seconds: number, look: () => Promise<string[]>): Promise<string[]> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const left = await look().catch((error: Error) => [`the server does not answer: ${error.message}`]);
    if (left.length === 0) return [];
    if (performance.now() > deadline) return left.map((one) => `after ${seconds} s: ${one}`);
    await sleep(1000);
  }
}

const isOurs = ({ metadata }: KubeObject): boolean =>
  metadata?.namespace === namespace || metadata?.namespace?.startsWith(spacePrefix) === true;

/** Waits until no pod of the run is left, and nothing of one; returns what is left in the end. */
export function comesToRest(cluster: ChaosCluster, seconds: number): Promise<string[]> {
  const { client } = cluster;
  return untilNothing(seconds, async () => {
    const pods = await client.resource(Pod).list();
    const kept = pods.items.filter((pod) => !isOurs(pod));
    const claims = await client.resource(ResourceClaim).list();
    const nodes = await client.resource(Node).list();
    const spaces = await client.resource(Namespace).list();
    return [
      ...pods.items
        .filter(isOurs)
        .map(({ metadata, status }) => `pod ${metadata.name} is still ${status?.phase}`),
      ...leftOnNodes(cluster, new Set(kept.map(({ metadata }) => metadata.uid))),
      ...escapedProcesses().map((line) => `a process that left its pod still runs: ${line}`),
      ...claims.items
        .filter(
          ({ metadata, status }) =>
            status?.allocation !== undefined ||
            (status?.reservedFor ?? []).length > 0 ||
            metadata.ownerReferences !== undefined ||
            metadata.deletionTimestamp !== undefined,
        )
        .map(({ metadata }) => `claim ${metadata.name} is still there or allocated`),
      ...nodes.items
        .filter(
          ({ status }) =>
            !status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
        )
        .map(({ metadata }) => `node ${metadata.name} is not ready`),
      ...spaces.items
        .filter(({ metadata }) => metadata.name.startsWith(spacePrefix))
        .map(({ metadata }) => `namespace ${metadata.name} is still there`),
    ];
  });
}

/**
 * Waits until every pool is published by its newest slices alone, and each slice belongs to a node that is
 * there.
 */
export function slicesAreWhole({ client }: ChaosCluster, seconds: number): Promise<string[]> {
  return untilNothing(seconds, async () => {
    const { items } = await client.resource(ResourceSlice).list();
    const nodes = new Map(
      (await client.resource(Node).list()).items.map((node) => [node.metadata.name, node]),
    );
    const rules = await client.resource(DeviceTaintRule).list();
    const pools = Map.groupBy(items, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
    return [
      ...[...pools].flatMap(([pool, slices]) => {
        const { resourceSliceCount } = slices[0]!.spec.pool;
        const generations = new Set(slices.map(({ spec }) => spec.pool.generation));
        return BigInt(slices.length) === BigInt(resourceSliceCount) && generations.size === 1
          ? []
          : [`pool ${pool} has ${slices.length} slices of ${[...generations]}, not ${resourceSliceCount}`];
      }),
      ...items.flatMap(({ metadata, spec }) => {
        if (spec.nodeName === undefined) return [];
        const owner = metadata.ownerReferences?.find(({ kind }) => kind === "Node");
        const uid = nodes.get(spec.nodeName)?.metadata.uid;
        return uid !== undefined && (owner === undefined || owner.uid === uid)
          ? []
          : [`slice ${metadata.name} belongs to node ${spec.nodeName} (${owner?.uid}), which is ${uid}`];
      }),
      ...rules.items.map(({ metadata }) => `DeviceTaintRule ${metadata.name} is still there`),
    ];
  });
}

/**
 * Deletes the namespace of the run; returns what keeps it, and what of the run's namespaces outlives them.
 */
export async function namespaceGoes({ client }: ChaosCluster, seconds: number): Promise<string[]> {
  await client.resource(Namespace).delete({ name: namespace });
  const stays = await untilNothing(seconds, async () => {
    const found = (await client.resource(Namespace).list()).items.find(
      ({ metadata }) => metadata.name === namespace,
    );
    return found === undefined ? [] : [`namespace ${namespace}: ${JSON.stringify(found.status)}`];
  });
  return [...stays, ...(await orphans(client))];
}

interface ApiResources {
  readonly resources: readonly {
    readonly name: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

/** Objects in namespaces of the run, which are gone. */
async function orphans({ text }: ChaosCluster["client"]): Promise<string[]> {
  const ask = async <T>(path: string): Promise<T> => JSON.parse(await text("GET", path)) as T;
  const { groups } = await ask<{ groups: { versions: { groupVersion: string }[] }[] }>("/apis");
  const paths = [
    "/api/v1",
    ...groups.flatMap(({ versions }) => versions.map((one) => `/apis/${one.groupVersion}`)),
  ];
  const found = new Set<string>();
  for (const path of paths) {
    const { resources } = await ask<ApiResources>(path);
    for (const { name, namespaced, verbs } of resources) {
      if (!namespaced || !verbs.includes("list") || path.includes("metrics.k8s.io")) continue;
      const { items } = await ask<{ items: KubeObject[] }>(`${path}/${name}`);
      for (const item of items.filter(isOurs))
        found.add(`${name} ${item.metadata?.namespace}/${item.metadata?.name} outlives its namespace`);
    }
  }
  return [...found];
}

/** Lines of the logs that no run may have: a process ended by itself, or an error that nobody expected. */
export function unreadableEnds(cluster: ChaosCluster): string[] {
  const telling =
    /unhandled|uncaught|FATAL ERROR|heap out of memory|Maximum call stack|is not a function|Cannot read prop/i;
  return [...new Set(cluster.logLines().filter((line) => telling.test(line)))]
    .slice(0, 10)
    .map((line) => `the log says: ${line.slice(0, 300)}`);
}

/** Returns the findings of `dray doctor` once everything is at rest. */
export async function diagnosed({ layout }: ChaosCluster): Promise<string[]> {
  const { stdout, stderr, code } = await dray(["doctor", "--kubeconfig", layout.kubeconfig]);
  return code === 0 ? [] : [`dray doctor ends with ${code}:\n${stderr}${stdout}`];
}
