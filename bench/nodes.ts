/**
 * Simulated nodes: what thousands of them cost while nothing happens, and how fast pods with claims run on
 * hundreds under a steady load. `COUNT` and `LOADED` are the numbers of nodes, `RATE` is pods a second, for
 * `SECONDS`.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pod } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { resident } from "../interop/processes.ts";
import { machine, markdown } from "./allocator/clock.ts";
import { clientOf, cpuOf, fleet, gpuPod, namespace, withCluster } from "./simulated/cluster.ts";

/** Seconds until all leases are there and code is compiled, and seconds that are measured. */
const settleSeconds = 60;
const idleSeconds = 60;
/** Seconds of load that are not counted. */
const warmUpSeconds = 10;
/** Pods that run at a time: the oldest is deleted for each one more. */
const maxPods = 200;

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;
const mebibytes = (pid: number): string => `${resident(pid).toFixed(0)} MiB`;

/** Rows of a table: what nodes without pods cost. */
async function idle(count: number): Promise<string[][]> {
  return withCluster(["--simulated-nodes", String(count)], async ({ start, pids }) => {
    const ready = pids.map(cpuOf);
    await sleep(settleSeconds * 1000);
    const before = pids.map(cpuOf);
    await sleep(idleSeconds * 1000);
    const share = pids.map((pid, i) => (cpuOf(pid) - before[i]!) / (idleSeconds * 1000));
    const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
    const [plane, simulation] = pids as [number, number];
    return [
      [`\`dray up --simulated-nodes ${count}\` until all are ready`, seconds(start)],
      ["processor time until then: control plane", seconds(ready[0]!)],
      ["processor time until then: simulation", seconds(ready[1]!)],
      ["of one core, idle: both", percent(share[0]! + share[1]!)],
      ["of one core, idle: control plane", percent(share[0]!)],
      ["of one core, idle: simulation", percent(share[1]!)],
      ["resident: control plane", mebibytes(plane)],
      ["resident: simulation", mebibytes(simulation)],
    ];
  });
}

/** Rows of a table: how long pods with a claim each take to run. */
async function steady(count: number, rate: number, duration: number): Promise<string[][]> {
  const file = join(mkdtempSync(join(tmpdir(), "dray-bench-")), "fleet.yaml");
  writeFileSync(file, fleet(count));
  return withCluster(["--fleet", file], async (cluster) => {
    const { pids } = cluster;
    const client = await clientOf(cluster);
    await play(client, rate, warmUpSeconds, "warm");
    const before = pids.map(cpuOf);
    const times = (await play(client, rate, duration, "load")).sort((a, b) => a - b);
    const cpu = pids.reduce((sum, pid, i) => sum + cpuOf(pid) - before[i]!, 0);
    client.close();
    const at = (share: number): string =>
      seconds(times[Math.min(times.length - 1, Math.floor(times.length * share))]!);
    const what = `${count} nodes, ${rate} pods a second`;
    return [
      [`${what}: created until running, p50`, at(0.5)],
      [`${what}: created until running, p99`, at(0.99)],
      [`${what}: created until running, longest`, at(1)],
      [`${what}: processor time of a pod, all processes`, `${(cpu / times.length).toFixed(1)} ms`],
    ];
  });
}

/**
 * Creates pods at a steady rate, and deletes the oldest ones; milliseconds from each create until it was seen
 * running.
 */
async function play(client: Client, rate: number, duration: number, prefix: string): Promise<number[]> {
  const pods = client.resource(Pod);
  const created = new Map<string, number>();
  const times: number[] = [];
  const stop = new AbortController();
  const informer = client.informer(Pod, { namespace });
  const see = ({ metadata, status }: Pod): void => {
    const begin = created.get(metadata.name);
    if (begin === undefined || status?.phase !== "Running") return;
    created.delete(metadata.name);
    times.push(performance.now() - begin);
  };
  informer.handle({ add: see, update: see });
  await informer.start(stop.signal);
  const alive: string[] = [];
  const remove = (name: string): Promise<unknown> => pods.delete({ namespace, name });
  const writes: Promise<unknown>[] = [];
  const begin = performance.now();
  for (let i = 0; i < rate * duration; i++) {
    await sleep(Math.max(0, begin + (i * 1000) / rate - performance.now()));
    const name = `${prefix}-${i}`;
    created.set(name, performance.now());
    writes.push(pods.create({ metadata: { namespace, name }, spec: gpuPod }));
    if (alive.push(name) > maxPods) writes.push(remove(alive.shift()!));
  }
  await Promise.all(writes);
  await informer.until(() => created.size === 0);
  await Promise.all(alive.map(remove));
  await informer.until(() => informer.list().length === 0);
  stop.abort();
  return times;
}

export async function nodesBench([
  count = "5000",
  loaded = "500",
  rate = "20",
  duration = "60",
]: readonly string[]): Promise<string> {
  const rows = [
    ...(await idle(Number(count))),
    ...(await steady(Number(loaded), Number(rate), Number(duration))),
  ];
  return `Measured on ${machine}.

${markdown(["", "figure"], rows)}`;
}
