/**
 * Measures a cluster that is full: a Deployment of `PODS` pods with a device each, on `NODES` simulated nodes
 * of eight. The pods cost processor time until those that fit run and the others wait, and again when running
 * pods are deleted, whose places others take.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Deployment } from "@dray/api/apps/v1";
import { Pod } from "@dray/api/core/v1";
import type { Informer } from "@dray/client";
import { resident } from "../interop/processes.ts";
import { machine, markdown } from "./allocator/clock.ts";
import { clientOf, cpuOf, fleet, gpuPod, namespace, withCluster } from "./simulated/cluster.ts";

/** Devices of a node. */
const perNode = 8;
/** Running pods that are deleted at once. */
const freed = [1, 20, 100];
/** Share of a core below which a second is quiet. */
const quietShare = 0.1;
/** Quiet seconds after which the control plane has nothing left to do. */
const quietSeconds = 3;

/** Waits until the process has nothing to do. */
async function rest(pid: number): Promise<void> {
  let [last, quiet] = [cpuOf(pid), 0];
  while (quiet < quietSeconds) {
    await sleep(1000);
    const now = cpuOf(pid);
    quiet = now - last < quietShare * 1000 ? quiet + 1 : 0;
    last = now;
  }
}

const isRunning = ({ status, metadata }: Pod): boolean =>
  status?.phase === "Running" && metadata.deletionTimestamp === undefined;

async function running(informer: Informer<Pod>, count: number): Promise<void> {
  await informer.until(() => informer.list().filter(isRunning).length >= count);
}

/** Rows of a table: processor time of the control plane. */
async function backlog(pods: number, nodes: number): Promise<string[][]> {
  const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
  const file = join(folder, "fleet.yaml");
  writeFileSync(file, fleet(nodes));
  const rows: string[][] = [];
  try {
    await withCluster(["--fleet", file], async (cluster) => {
      const [pid] = cluster.pids as [number];
      const client = await clientOf(cluster);
      const stop = new AbortController();
      const informer = client.informer(Pod, { namespace });
      await informer.start(stop.signal);
      const fit = Math.min(pods, nodes * perNode);
      await rest(pid);
      const add = (what: string, cpu: number, begin: number): void => {
        const waited = ((performance.now() - begin) / 1000 - quietSeconds).toFixed(1);
        rows.push([what, (cpu / 1000).toFixed(2), waited]);
        process.stderr.write(`${rows.at(-1)!.join(", ")}\n`);
      };
      const begin = performance.now();
      const before = cpuOf(pid);
      const labels = { app: "backlog" };
      await client.resource(Deployment).create({
        metadata: { namespace, name: "backlog" },
        spec: {
          replicas: pods,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: gpuPod },
        },
      });
      await running(informer, fit);
      await rest(pid);
      add(`${pods} pods, until ${fit} run and the rest waits`, cpuOf(pid) - before, begin);
      for (const count of freed) {
        const chosen = informer.list().filter(isRunning).slice(0, count);
        const begin = performance.now();
        const before = cpuOf(pid);
        await Promise.all(
          chosen.map(({ metadata: { name } }) => client.resource(Pod).delete({ namespace, name })),
        );
        await rest(pid);
        await running(informer, fit);
        add(`${count} of those that run are deleted, until others run`, cpuOf(pid) - before, begin);
      }
      rows.push(["resident at the end", `${resident(pid).toFixed(0)} MiB`, ""]);
      stop.abort();
      client.close();
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return rows;
}

/** `[PODS [NODES]]`: 10,000 and 200 if absent. */
export async function backlogBench([pods = "10000", nodes = "200"]: readonly string[]): Promise<string> {
  const rows = await backlog(Number(pods), Number(nodes));
  return `Measured on ${machine}.

${markdown(["", "CPU s of the control plane", "s"], rows)}`;
}
