import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { StatusError } from "@dray/api";
import { ConfigMap, Node, Pod, ResourceQuota } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import { Random } from "@dray/testing/random";
import { processesOf } from "../harness.ts";
import { beyondQuota, broken, Ledger } from "./checks.ts";
import { ChaosCluster, realNodes } from "./cluster.ts";
import { Crowd } from "./crowd-acts.ts";
import { calm, disturb } from "./disturb.ts";
import { fixtures, hostileClass, makeCanary, makePod, namespace } from "./pods.ts";
import { giveAllBack, takeAllDevices } from "./proof.ts";
import { comesToRest, diagnosed, namespaceGoes, slicesAreWhole, unreadableEnds } from "./rest.ts";
import { SplitCluster } from "./split-cluster.ts";

export interface ChaosOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Those beyond the third have simulated devices and a crowd of pods. */
  readonly nodes: number;
  /** The parts of the control plane are processes of their own, which are killed alone. */
  readonly split: boolean;
  /** Leaves the cluster running if something did not hold, to look at. */
  readonly keep: boolean;
  progress(line: string): void;
}

export interface ChaosResult {
  /** Violated invariants; empty if all is well. */
  readonly wrong: readonly string[];
  /** How often what was done, and what was measured. */
  readonly counts: Readonly<Record<string, number>>;
  readonly figures: readonly (readonly [name: string, value: string])[];
}

/** At most this many pods of the run at once. */
const maxPods = 60;
/** Seconds within which a pod on the node that nobody disturbs must run once all parts are up. */
const canaryTimeout = 60;
/** Seconds within which everything must be gone at the end. */
const endTimeout = 180;
/** Seconds within which a pod on each node gets all its devices in the end. */
const proofTimeout = 120;

/**
 * Runs a cluster and does to it what its worst day would, for some time: pods with claims of all kinds come
 * and go, every process is killed, folders are disturbed, a driver means harm. Looks all the while whether
 * what must always hold does, and at the end whether everything comes to rest and leaves nothing.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seconds, seed, nodes, split, keep, progress } = options;
  const random = new Random(seed);
  const cluster = split ? new SplitCluster(nodes, seed % 2 === 1) : new ChaosCluster(nodes);
  const [disturbed = "", hostileNode = "", calmNode = "", ...crowdNodes] = cluster.nodes;
  const counts: Record<string, number> = {};
  const figures: [string, string][] = [];
  const wrong = new Set<string>();
  const ledger = new Ledger();
  const count = (what: string, by = 1): void => {
    counts[what] = (counts[what] ?? 0) + by;
  };
  const complain = (problems: readonly string[]): void => {
    for (const problem of problems)
      if (!wrong.has(problem)) {
        wrong.add(problem);
        progress(`BROKEN: ${problem}`);
      }
  };
  const peaks = { "control plane": 0, agents: 0 };
  const measure = (): void => {
    for (const part of ["control plane", "agents"] as const)
      peaks[part] = Math.max(peaks[part], cluster.memory(part) ?? 0);
  };

  let hostileDriver: ChildProcess | undefined;
  const startHostile = (mode: "hostile" | "calm"): void => {
    hostileDriver?.kill("SIGKILL");
    hostileDriver = cluster.startHostileDriver(hostileNode, random.below(1e9), mode);
  };
  let number = 0;
  /** Pods that chance may delete. */
  const mortal = (): string[] => ledger.names.filter((name) => !name.startsWith("canary-"));

  /** Does what may fail because the server was killed; an answer that is missing is no fault. */
  const attempt = async <T>(act: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await act();
    } catch (error) {
      if (error instanceof StatusError && error.code < 500 && error.code !== 429) {
        if (!["NotFound", "Conflict", "AlreadyExists"].includes(`${error.reason}`))
          complain([`the server refused a valid request: ${error.message}`]);
      } else count("requests without an answer");
      return undefined;
    }
  };

  const create = async (pod: Pod): Promise<boolean> => {
    const { name } = pod.metadata;
    const made = await attempt(() => cluster.client.resource(Pod).create(pod as never));
    if (made === undefined) ledger.uncertain(name);
    else ledger.created(name, made.metadata.uid);
    count("pods created");
    return made !== undefined;
  };
  const remove = async (name: string): Promise<void> => {
    ledger.deleting(name);
    const gracePeriodSeconds = random.pick([undefined, undefined, 0, 1]);
    await attempt(() =>
      cluster.client
        .resource(Pod)
        .delete({ namespace, name }, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    );
    count("pods deleted");
  };
  const kill = (pid: number | undefined, what: string): boolean => {
    if (pid === undefined) return false;
    try {
      process.kill(pid, "SIGKILL");
      count(`kills of ${what}`);
      return true;
    } catch {
      return false;
    }
  };
  const containerProcesses = (): number[] =>
    processesOf("DRAY_CONTAINER_ID=")
      .filter((line) => line.includes(" ") && processesOf(cluster.layout.runDir).includes(line))
      .map((line) => Number.parseInt(line, 10));

  type Action = readonly [weight: number, act: () => Promise<void>];
  const actions: Action[] = [
    [
      50,
      async () => {
        if (mortal().length < maxPods) await create(makePod(random, ++number, [calmNode, ...crowdNodes]));
        else await remove(random.pick(mortal()));
      },
    ],
    [
      35,
      async () => {
        if (mortal().length > 0) await remove(random.pick(mortal()));
      },
    ],
    [
      2,
      async () => {
        if (kill(cluster.pid("control plane"), "the control plane")) {
          await sleep(random.below(3000));
          await restart();
        }
      },
    ],
    [3, async () => void kill(cluster.pid("agents"), "the agents")],
    [
      1,
      async () => {
        kill(cluster.pid("agents"), "the agents");
        kill(cluster.pid("control plane"), "the control plane");
        await restart();
      },
    ],
    [
      6,
      async () => {
        const processes = containerProcesses();
        if (processes.length > 0) kill(random.pick(processes), "a process of a container");
      },
    ],
    [
      3,
      async () => {
        count("disturbed folders");
        disturb(cluster.root(disturbed), random);
      },
    ],
    [2, async () => calm(cluster.root(disturbed))],
    [
      2,
      async () => {
        startHostile("hostile");
        count("starts of the hostile driver");
      },
    ],
    [
      2,
      async () => {
        const key = `chaos/label-${random.below(3)}`;
        await attempt(() =>
          cluster.client
            .resource(Node)
            .patch({ name: disturbed }, "merge", { metadata: { labels: { [key]: `${number}` } } }),
        );
        count("nodes labelled");
      },
    ],
    [
      1,
      async () => {
        const slices = await attempt(() => cluster.client.resource(ResourceSlice).list());
        const slice = slices?.items.find(({ spec }) => spec.nodeName !== calmNode);
        if (slice !== undefined)
          await attempt(() => cluster.client.resource(ResourceSlice).delete({ name: slice.metadata.name }));
        count("slices deleted");
      },
    ],
  ];
  const crowd =
    crowdNodes.length === 0 ? undefined : new Crowd({ cluster, random, nodes: crowdNodes, count, attempt });
  if (crowd !== undefined) actions.push(...crowd.acts);
  const totalWeight = actions.reduce((sum, [weight]) => sum + weight, 0);
  const act = async (): Promise<void> => {
    let place = random.below(totalWeight);
    for (const [weight, action] of actions) {
      if (place < weight) return action();
      place -= weight;
    }
  };

  const look = async (): Promise<void> => {
    measure();
    const slices = await attempt(() => cluster.client.resource(ResourceSlice).list());
    // Claims first: one that a pod of the second list runs with was there before.
    const pods = await attempt(() => cluster.client.resource(Pod).list());
    const claims = await attempt(() => cluster.client.resource(ResourceClaim).list());
    const acknowledged = ledger.acknowledged();
    const again = await attempt(() => cluster.client.resource(Pod).list());
    const quotas = await attempt(() => cluster.client.resource(ResourceQuota).list());
    if (slices === undefined || pods === undefined || claims === undefined || again === undefined) return;
    count("looks at pods and claims");
    // A pod that is the same before and after was so in between, when the claims were read.
    const versions = new Map(again.items.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
    const steady = pods.items.filter(
      ({ metadata }) => versions.get(metadata.uid) === metadata.resourceVersion,
    );
    const look = { pods: steady, claims: claims.items, slices: slices.items };
    complain(broken(look, cluster.schedulersCompete));
    complain(ledger.lost(acknowledged, again.items));
    complain(beyondQuota(quotas?.items ?? [], claims.items));
  };

  /** A pod on the node that nobody disturbs gets its device and runs, whatever the others go through. */
  const canary = async (): Promise<void> => {
    const pod = makeCanary(++number, calmNode);
    const { name } = pod.metadata;
    if (!(await create(pod))) return;
    let began = performance.now();
    for (;;) {
      const found = await attempt(() => cluster.client.resource(Pod).get({ namespace, name }));
      if (found?.status?.phase === "Running") break;
      // Nobody can be expected to start a pod while there is no server to hear of it from.
      if (found === undefined || performance.now() < cluster.excusedUntil) began = performance.now();
      if (performance.now() - began > canaryTimeout * 1000) {
        const why = JSON.stringify(found?.status).slice(0, 1500);
        complain([`${name} on the undisturbed node does not run after ${canaryTimeout} s: ${why}`]);
        break;
      }
      await sleep(200);
    }
    slowestCanary = Math.max(slowestCanary, performance.now() - began);
    count("canaries");
    await remove(name);
  };
  let slowestCanary = 0;
  let slowestUp = 0;
  /** Starts again what was killed. */
  const restart = async (): Promise<void> => {
    const began = performance.now();
    await cluster.up();
    slowestUp = Math.max(slowestUp, performance.now() - began);
  };
  let isDown = false;

  try {
    await cluster.up();
    await cluster.installDriver();
    await cluster.client.resource(DeviceClass).create({
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata: { name: hostileClass },
      spec: { selectors: [{ cel: { expression: `device.driver == "${hostileClass}"` } }] },
    } as never);
    for (const claim of fixtures.claims) await cluster.client.resource(ResourceClaim).create(claim as never);
    for (const one of fixtures.templates)
      await cluster.client.resource(ResourceClaimTemplate).create(one as never);
    await cluster.client.resource(ConfigMap).create(fixtures.configMap as never);
    await crowd?.start();
    startHostile("hostile");
    const atStart = memoryText(cluster);

    const end = performance.now() + seconds * 1000;
    let nextLook = 0;
    let nextLine = 0;
    let canaries: Promise<void> = Promise.resolve();
    let canaryDone = true;
    let busy: Promise<void> = Promise.resolve();
    while (performance.now() < end) {
      await act();
      if (performance.now() > nextLook) {
        nextLook = performance.now() + 2000;
        await busy;
        busy = look();
        if (canaryDone) {
          canaryDone = false;
          canaries = canary().finally(() => {
            canaryDone = true;
          });
        }
      }
      if (performance.now() > nextLine) {
        nextLine = performance.now() + 15_000;
        const left = Math.round((end - performance.now()) / 1000);
        progress(
          `${left} s left: ${ledger.names.length} pods, ${Object.values(counts).reduce((a, b) => a + b, 0)} acts`,
        );
      }
      await sleep(random.below(crowd === undefined ? 300 : 60));
    }

    progress("the disturbances end: everything must come to rest");
    calm(cluster.root(disturbed));
    startHostile("calm");
    await cluster.up();
    await cluster.answers();
    await Promise.all([busy, canaries]);
    await look();
    await crowd?.end();
    await cluster.client.resource(Pod).deleteCollection({ namespace });
    for (const name of ledger.names) ledger.deleting(name);
    let began = performance.now();
    const since = (): string => `${Math.round((performance.now() - began) / 1000)} s`;
    complain(await comesToRest(cluster, endTimeout));
    figures.push(["all pods gone, and nothing left on the nodes, after", since()]);
    began = performance.now();
    await crowd?.tidyUp();
    for (const scheduler of ["default", ...(crowd === undefined ? [] : ["second" as const])] as const) {
      complain(await takeAllDevices(cluster, realNodes, scheduler, proofTimeout));
      await giveAllBack(cluster);
      complain(await comesToRest(cluster, endTimeout));
    }
    figures.push(["every device taken once more, and given back, after", since()]);
    complain(await slicesAreWhole(cluster, endTimeout));
    complain(unreadableEnds(cluster));
    complain(await diagnosed(cluster));
    if (wrong.size === 0) complain(await namespaceGoes(cluster, endTimeout));
    if (wrong.size > 0) await cluster.writeObjects();
    if (keep && wrong.size > 0) {
      isDown = true;
      return { wrong: [...wrong], counts, figures };
    }
    figures.push(
      ["slowest pod on the undisturbed node", `${(slowestCanary / 1000).toFixed(1)} s`],
      ["slowest dray up after a kill", `${(slowestUp / 1000).toFixed(1)} s`],
      ["memory at the start", atStart],
      ["memory, most", `control plane ${peaks["control plane"]} MiB, agents ${peaks.agents} MiB`],
      ["memory at the end", memoryText(cluster)],
    );
    hostileDriver?.kill("SIGKILL");
    await crowd?.kill();
    if (wrong.size === 0) await cluster.down();
    else await cluster.stop();
    isDown = true;
    const left = processesOf(cluster.layout.runDir);
    complain(left.map((line) => `still runs after dray down: ${line.slice(0, 200)}`));
    if (existsSync(cluster.layout.runDir) && readdirSync(cluster.layout.runDir).length > 0)
      complain([`${cluster.layout.runDir} is not empty after dray down`]);
  } finally {
    hostileDriver?.kill("SIGKILL");
    await crowd?.kill();
    if (!isDown) await cluster.stop();
    if (isDown && wrong.size === 0) cluster.remove();
    else progress(`the logs are kept in ${cluster.layout.logs}`);
  }
  return { wrong: [...wrong], counts, figures };
}

function memoryText(cluster: ChaosCluster): string {
  return `control plane ${cluster.memory("control plane")} MiB, agents ${cluster.memory("agents")} MiB`;
}
