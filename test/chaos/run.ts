import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigMap, Node, Pod, ResourceQuota } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import { Random } from "@dray/testing/random";
import { processesOf } from "../harness.ts";
import { beyondQuota, broken, Ledger } from "./checks.ts";
import { ChaosCluster, realNodes } from "./cluster.ts";
import { Crowd } from "./crowd-acts.ts";
import { calm, disturb } from "./disturb.ts";
import type { ChaosOptions } from "./options.ts";
import { fixtures, hostileClass, makeCanary, makePod, namespace } from "./pods.ts";
import { giveAllBack, takeAllDevices } from "./proof.ts";
import { ChaosRecord, type ChaosResult } from "./record.ts";
import { comesToRest, diagnosed, namespaceGoes, slicesAreWhole, unreadableEnds } from "./rest.ts";
import { SplitCluster } from "./split-cluster.ts";

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
  return new ChaosRun(options).run();
}

type Action = readonly [weight: number, act: () => Promise<void>];

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #random: Random;
  readonly #cluster: ChaosCluster;
  /** The nodes whose folders are disturbed, of the hostile driver, and that nobody disturbs. */
  readonly #disturbed: string;
  readonly #hostileNode: string;
  readonly #calmNode: string;
  readonly #crowdNodes: readonly string[];
  readonly #crowd: Crowd | undefined;
  readonly #actions: readonly Action[];
  readonly #record: ChaosRecord;
  readonly #ledger = new Ledger();
  readonly #peaks = { "control plane": 0, agents: 0 };
  #hostileDriver: ChildProcess | undefined;
  #number = 0;
  #slowestCanary = 0;
  #slowestUp = 0;
  #isDown = false;

  constructor(options: ChaosOptions) {
    const { seed, nodes, split } = options;
    this.#options = options;
    this.#record = new ChaosRecord(options.progress);
    this.#random = new Random(seed);
    this.#cluster = split ? new SplitCluster(nodes, seed % 2 === 1) : new ChaosCluster(nodes);
    const [disturbed = "", hostileNode = "", calmNode = "", ...crowdNodes] = this.#cluster.nodes;
    this.#disturbed = disturbed;
    this.#hostileNode = hostileNode;
    this.#calmNode = calmNode;
    this.#crowdNodes = crowdNodes;
    if (crowdNodes.length > 0)
      this.#crowd = new Crowd({
        cluster: this.#cluster,
        random: this.#random,
        nodes: crowdNodes,
        count: (what) => this.#record.count(what),
        attempt: (act) => this.#record.attempt(act),
      });
    this.#actions = [
      ...this.#podActions(),
      ...this.#kills(),
      ...this.#disturbances(),
      ...(this.#crowd?.acts ?? []),
    ];
  }

  async run(): Promise<ChaosResult> {
    const { keep, progress } = this.#options;
    const cluster = this.#cluster;
    const { wrong, figures } = this.#record;
    try {
      await this.#start();
      const atStart = cluster.memoryText();
      await this.#disturbForAWhile();
      await this.#comeToRest();
      if (wrong.length > 0) await cluster.writeObjects();
      if (keep && wrong.length > 0) {
        this.#isDown = true;
        return this.#record;
      }
      const { "control plane": controlPlane, agents } = this.#peaks;
      figures.push(
        ["slowest pod on the undisturbed node", `${(this.#slowestCanary / 1000).toFixed(1)} s`],
        ["slowest dray up after a kill", `${(this.#slowestUp / 1000).toFixed(1)} s`],
        ["memory at the start", atStart],
        ["memory, most", `control plane ${controlPlane} MiB, agents ${agents} MiB`],
        ["memory at the end", cluster.memoryText()],
      );
      await this.#end();
    } finally {
      this.#hostileDriver?.kill("SIGKILL");
      await this.#crowd?.kill();
      if (!this.#isDown) await cluster.stop();
      if (this.#isDown && wrong.length === 0) cluster.remove();
      else progress(`the logs are kept in ${cluster.layout.logs}`);
    }
    return this.#record;
  }

  async #start(): Promise<void> {
    const cluster = this.#cluster;
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
    await this.#crowd?.start();
    this.#startHostile("hostile");
  }

  /** Acts and looks, until the time is over and the last look and canary have ended. */
  async #disturbForAWhile(): Promise<void> {
    const { seconds, progress } = this.#options;
    const end = performance.now() + seconds * 1000;
    let nextLook = 0;
    let nextLine = 0;
    let canaries: Promise<void> = Promise.resolve();
    let canaryDone = true;
    let busy: Promise<void> = Promise.resolve();
    while (performance.now() < end) {
      await this.#act();
      if (performance.now() > nextLook) {
        nextLook = performance.now() + 2000;
        await busy;
        busy = this.#look();
        if (canaryDone) {
          canaryDone = false;
          canaries = this.#canary().finally(() => {
            canaryDone = true;
          });
        }
      }
      if (performance.now() > nextLine) {
        nextLine = performance.now() + 15_000;
        const left = Math.round((end - performance.now()) / 1000);
        const acts = Object.values(this.#record.counts).reduce((a, b) => a + b, 0);
        progress(`${left} s left: ${this.#ledger.names.length} pods, ${acts} acts`);
      }
      await sleep(this.#random.below(this.#crowd === undefined ? 300 : 60));
    }
    progress("the disturbances end: everything must come to rest");
    calm(this.#cluster.root(this.#disturbed));
    this.#startHostile("calm");
    await this.#cluster.up();
    await this.#cluster.answers();
    await Promise.all([busy, canaries]);
  }

  async #comeToRest(): Promise<void> {
    const cluster = this.#cluster;
    const crowd = this.#crowd;
    await this.#look();
    await crowd?.end();
    await cluster.deletePods();
    for (const name of this.#ledger.names) this.#ledger.deleting(name);
    let began = performance.now();
    const since = (): string => `${Math.round((performance.now() - began) / 1000)} s`;
    this.#record.complain(await comesToRest(cluster, endTimeout));
    this.#record.figures.push(["all pods gone, and nothing left on the nodes, after", since()]);
    began = performance.now();
    await crowd?.tidyUp();
    for (const scheduler of ["default", ...(crowd === undefined ? [] : ["second" as const])] as const) {
      this.#record.complain(await takeAllDevices(cluster, realNodes, scheduler, proofTimeout));
      await giveAllBack(cluster);
      this.#record.complain(await comesToRest(cluster, endTimeout));
    }
    this.#record.figures.push(["every device taken once more, and given back, after", since()]);
    this.#record.complain(await slicesAreWhole(cluster, endTimeout));
    this.#record.complain(unreadableEnds(cluster));
    this.#record.complain(await diagnosed(cluster));
    if (this.#record.wrong.length === 0) this.#record.complain(await namespaceGoes(cluster, endTimeout));
  }

  /** Ends the cluster, which must leave no process and no file. */
  async #end(): Promise<void> {
    const cluster = this.#cluster;
    const { runDir } = cluster.layout;
    this.#hostileDriver?.kill("SIGKILL");
    await this.#crowd?.kill();
    if (this.#record.wrong.length === 0) await cluster.down();
    else await cluster.stop();
    this.#isDown = true;
    const left = processesOf(runDir);
    this.#record.complain(left.map((line) => `still runs after dray down: ${line.slice(0, 200)}`));
    if (existsSync(runDir) && readdirSync(runDir).length > 0)
      this.#record.complain([`${runDir} is not empty after dray down`]);
  }

  async #act(): Promise<void> {
    let place = this.#random.below(this.#actions.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, action] of this.#actions) {
      if (place < weight) return action();
      place -= weight;
    }
  }

  /** Pods that chance may delete. */
  get #mortal(): string[] {
    return this.#ledger.names.filter((name) => !name.startsWith("canary-"));
  }

  #podActions(): Action[] {
    const random = this.#random;
    const create = async (): Promise<void> => {
      if (this.#mortal.length >= maxPods) return this.#remove(random.pick(this.#mortal));
      await this.#create(makePod(random, ++this.#number, [this.#calmNode, ...this.#crowdNodes]));
    };
    const remove = async (): Promise<void> => {
      if (this.#mortal.length > 0) await this.#remove(random.pick(this.#mortal));
    };
    return [
      [50, create],
      [35, remove],
    ];
  }

  #kills(): Action[] {
    const random = this.#random;
    const cluster = this.#cluster;
    const killControlPlane = async (): Promise<void> => {
      if (!this.#kill(cluster.pid("control plane"), "the control plane")) return;
      await sleep(random.below(3000));
      await this.#restart();
    };
    const killAgents = async (): Promise<void> => void this.#kill(cluster.pid("agents"), "the agents");
    const killBoth = async (): Promise<void> => {
      await killAgents();
      this.#kill(cluster.pid("control plane"), "the control plane");
      await this.#restart();
    };
    const killContainer = async (): Promise<void> => {
      const processes = processesOf("DRAY_CONTAINER_ID=")
        .filter((line) => line.includes(" ") && processesOf(cluster.layout.runDir).includes(line))
        .map((line) => Number.parseInt(line, 10));
      if (processes.length > 0) this.#kill(random.pick(processes), "a process of a container");
    };
    return [
      [2, killControlPlane],
      [3, killAgents],
      [1, killBoth],
      [6, killContainer],
    ];
  }

  #disturbances(): Action[] {
    const random = this.#random;
    const cluster = this.#cluster;
    const disturbFolders = async (): Promise<void> => {
      this.#record.count("disturbed folders");
      disturb(cluster.root(this.#disturbed), random);
    };
    const startHostile = async (): Promise<void> => {
      this.#startHostile("hostile");
      this.#record.count("starts of the hostile driver");
    };
    const label = async (): Promise<void> => {
      const labels = { [`chaos/label-${random.below(3)}`]: `${this.#number}` };
      const nodes = cluster.client.resource(Node);
      await this.#record.attempt(() =>
        nodes.patch({ name: this.#disturbed }, "merge", { metadata: { labels } }),
      );
      this.#record.count("nodes labelled");
    };
    const deleteSlice = async (): Promise<void> => {
      const slices = cluster.client.resource(ResourceSlice);
      const found = await this.#record.attempt(() => slices.list());
      const slice = found?.items.find(({ spec }) => spec.nodeName !== this.#calmNode);
      if (slice !== undefined) await this.#record.attempt(() => slices.delete({ name: slice.metadata.name }));
      this.#record.count("slices deleted");
    };
    return [
      [3, disturbFolders],
      [2, async () => calm(cluster.root(this.#disturbed))],
      [2, startHostile],
      [2, label],
      [1, deleteSlice],
    ];
  }

  async #create(pod: Pod): Promise<boolean> {
    const { name } = pod.metadata;
    const made = await this.#record.attempt(() => this.#cluster.client.resource(Pod).create(pod as never));
    if (made === undefined) this.#ledger.uncertain(name);
    else this.#ledger.created(name, made.metadata.uid);
    this.#record.count("pods created");
    return made !== undefined;
  }

  async #remove(name: string): Promise<void> {
    this.#ledger.deleting(name);
    const gracePeriodSeconds = this.#random.pick([undefined, undefined, 0, 1]);
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await this.#record.attempt(() => this.#cluster.client.resource(Pod).delete({ namespace, name }, options));
    this.#record.count("pods deleted");
  }

  #kill(pid: number | undefined, what: string): boolean {
    if (pid === undefined) return false;
    try {
      process.kill(pid, "SIGKILL");
      this.#record.count(`kills of ${what}`);
      return true;
    } catch {
      return false;
    }
  }

  #startHostile(mode: "hostile" | "calm"): void {
    this.#hostileDriver?.kill("SIGKILL");
    const seed = this.#random.below(1e9);
    this.#hostileDriver = this.#cluster.startHostileDriver(this.#hostileNode, seed, mode);
  }

  /** Starts again what was killed. */
  async #restart(): Promise<void> {
    const began = performance.now();
    await this.#cluster.up();
    this.#slowestUp = Math.max(this.#slowestUp, performance.now() - began);
  }

  async #look(): Promise<void> {
    const { client, schedulersCompete } = this.#cluster;
    for (const part of ["control plane", "agents"] as const)
      this.#peaks[part] = Math.max(this.#peaks[part], this.#cluster.memory(part) ?? 0);
    const slices = await this.#record.attempt(() => client.resource(ResourceSlice).list());
    // Claims first: one that a pod of the second list runs with was there before.
    const pods = await this.#record.attempt(() => client.resource(Pod).list());
    const claims = await this.#record.attempt(() => client.resource(ResourceClaim).list());
    const acknowledged = this.#ledger.acknowledged();
    const again = await this.#record.attempt(() => client.resource(Pod).list());
    const quotas = await this.#record.attempt(() => client.resource(ResourceQuota).list());
    if (slices === undefined || pods === undefined || claims === undefined || again === undefined) return;
    this.#record.count("looks at pods and claims");
    // A pod that is the same before and after was so in between, when the claims were read.
    const versions = new Map(again.items.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
    const steady = pods.items.filter(
      ({ metadata }) => versions.get(metadata.uid) === metadata.resourceVersion,
    );
    this.#record.complain(
      broken({ pods: steady, claims: claims.items, slices: slices.items }, schedulersCompete),
    );
    this.#record.complain(this.#ledger.lost(acknowledged, again.items));
    this.#record.complain(beyondQuota(quotas?.items ?? [], claims.items));
  }

  /** A pod on the node that nobody disturbs gets its device and runs, whatever the others go through. */
  async #canary(): Promise<void> {
    const pod = makeCanary(++this.#number, this.#calmNode);
    const { name } = pod.metadata;
    if (!(await this.#create(pod))) return;
    let began = performance.now();
    for (;;) {
      const found = await this.#record.attempt(() =>
        this.#cluster.client.resource(Pod).get({ namespace, name }),
      );
      if (found?.status?.phase === "Running") break;
      // A pod is not started while there is no server that reports it.
      if (found === undefined || performance.now() < this.#cluster.excusedUntil) began = performance.now();
      if (performance.now() - began > canaryTimeout * 1000) {
        const why = JSON.stringify(found?.status).slice(0, 1500);
        this.#record.complain([
          `${name} on the undisturbed node does not run after ${canaryTimeout} s: ${why}`,
        ]);
        break;
      }
      await sleep(200);
    }
    this.#slowestCanary = Math.max(this.#slowestCanary, performance.now() - began);
    this.#record.count("canaries");
    await this.#remove(name);
  }
}
