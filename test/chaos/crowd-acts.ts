import { type ChildProcess, spawn } from "node:child_process";
import type { Kind } from "@dray/api";
import { Namespace, Node, Pod } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { Random } from "../fuzz/random.ts";
import { dray, drayArguments } from "../harness.ts";
import type { ChaosCluster } from "./cluster.ts";
import {
  crowdPod,
  crowdTemplates,
  gang,
  priorityClass,
  randomDevice,
  secondScheduler,
  taintRule,
  workload,
  workloadKinds,
} from "./crowd.ts";
import { namespace } from "./pods.ts";

/** What a crowd needs of the run. */
export interface CrowdOptions {
  readonly cluster: ChaosCluster;
  readonly random: Random;
  readonly nodes: readonly string[];
  count(what: string): void;
  attempt<T>(act: () => Promise<T>): Promise<T | undefined>;
}

/** Maximum number of pods of a crowd that its acts make; workloads make more. */
const maxPods = 200;
const maxWorkloads = 12;
const maxRules = 4;
const maxBroken = 6;

/**
 * Pods on nodes with simulated devices, and what happens to these: taints, breaks, deletions, a second scheduler that
 * is killed. Pods of a crowd may be evicted or preempted, so that the ledger of acknowledged writes does not hold them.
 */
export class Crowd {
  readonly #options: CrowdOptions;
  readonly #broken = new Set<string>();
  #number = 0;
  #scheduler: ChildProcess | undefined;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { client } = this.#options.cluster;
    await client.resource(Namespace).patch({ name: namespace }, "merge", {
      metadata: { labels: { "resource.kubernetes.io/admin-access": "true" } },
    });
    await client.resource(PriorityClass).create(priorityClass as never);
    for (const one of crowdTemplates) await client.resource(ResourceClaimTemplate).create(one as never);
    this.#startScheduler();
  }

  #startScheduler(): void {
    const flags = [
      "--kubeconfig",
      this.#options.cluster.layout.kubeconfig,
      "--scheduler-name",
      secondScheduler,
    ];
    // Its lease is another than that of the cluster's own scheduler, which does not wait for one.
    const lease = ["--leader-elect", "true", "--leader-elect-resource-name", secondScheduler];
    const gates = ["--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true"];
    this.#scheduler = spawn(process.execPath, [...drayArguments, "scheduler", ...flags, ...lease, ...gates], {
      stdio: ["ignore", "ignore", "ignore"],
    });
  }

  /** Every act, with its weight among all. */
  get acts(): readonly (readonly [weight: number, act: () => Promise<void>])[] {
    return [
      [60, () => this.#createPod()],
      [12, () => this.#createGang()],
      [30, () => this.#deletePods()],
      [6, () => this.#createWorkload()],
      [6, () => this.#deleteOne(workloadKinds[this.#options.random.below(3)]!, "workloads")],
      [6, () => this.#deleteOne(PodGroup, "pod groups")],
      [8, () => this.#deleteOne(ResourceClaim, "claims in use")],
      [6, () => this.#createRule()],
      [4, () => this.#deleteOne(DeviceTaintRule, "taint rules")],
      [3, () => this.#breakOrHeal()],
      [2, () => this.#killScheduler()],
      [1, () => this.#deleteNode()],
    ];
  }

  async #createPod(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const pod = crowdPod(random, ++this.#number);
    if ((await this.#names(Pod, "")).length >= maxPods) return;
    await attempt(() => cluster.client.resource(Pod).create(pod as never));
    count("crowd: pods created");
  }

  async #createGang(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const { group, pods } = gang(random, ++this.#number);
    await attempt(() => cluster.client.resource(PodGroup).create(group as never));
    for (const pod of pods) await attempt(() => cluster.client.resource(Pod).create(pod as never));
    count("crowd: gangs created");
  }

  /** Deletes pods, by force too. */
  async #deletePods(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const names = await this.#names(Pod, "crowd-");
    for (let left = 1 + random.below(4); left > 0 && names.length > 0; left--) {
      const name = random.pick(names);
      const gracePeriodSeconds = random.pick([0, 1, 2]);
      await attempt(() => cluster.client.resource(Pod).delete({ namespace, name }, { gracePeriodSeconds }));
      count(gracePeriodSeconds === 0 ? "crowd: pods deleted by force" : "crowd: pods deleted");
    }
  }

  async #createWorkload(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const kind = random.pick(workloadKinds);
    const object = workload(random, ++this.#number, kind);
    if ((await this.#names(kind, "")).length >= maxWorkloads / workloadKinds.length) return;
    await attempt(() => cluster.client.resource(kind).create(object as never));
    count(`crowd: ${kind.kind}s created`);
  }

  /** Deletes an object of the crowd by chance. */
  async #deleteOne(kind: Kind, what: string): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const names = await this.#names(kind, kind.kind === "ResourceClaim" ? "crowd-" : "");
    if (names.length === 0) return;
    const name = random.pick(names);
    const key = !kind.namespaced ? { name } : { namespace, name };
    await attempt(() =>
      cluster.client.resource(kind).delete(key as never, { propagationPolicy: "Background" }),
    );
    count(`crowd: ${what} deleted`);
  }

  async #createRule(): Promise<void> {
    const { random, cluster, attempt, count, nodes } = this.#options;
    const rule = taintRule(random, ++this.#number, nodes);
    if ((await this.#names(DeviceTaintRule, "")).length >= maxRules) return;
    await attempt(() => cluster.client.resource(DeviceTaintRule).create(rule as never));
    count("crowd: taint rules created");
  }

  async #breakOrHeal(): Promise<void> {
    const { random, nodes, count } = this.#options;
    if (this.#broken.size >= maxBroken) return this.#heal(random.pick([...this.#broken]));
    const device = `${random.pick(nodes)}/${randomDevice(random)}`;
    const effect = random.pick(["NoSchedule", "NoExecute"]);
    this.#broken.add(device);
    await this.#device("break", device, "--effect", effect);
    count("crowd: devices broken");
  }

  async #heal(device: string): Promise<void> {
    const { code } = await this.#device("heal", device);
    if (code === 0) this.#broken.delete(device);
  }

  #device(verb: string, ...args: readonly string[]): ReturnType<typeof dray> {
    return dray(["device", verb, ...args, "--kubeconfig", this.#options.cluster.layout.kubeconfig]);
  }

  async #killScheduler(): Promise<void> {
    this.#scheduler?.kill("SIGKILL");
    this.#startScheduler();
    this.#options.count("kills of the second scheduler");
  }

  /** Deletes a Node; its agent registers it again. */
  async #deleteNode(): Promise<void> {
    const { random, cluster, attempt, nodes, count } = this.#options;
    const name = random.pick(nodes);
    await attempt(() => cluster.client.resource(Node).delete({ name }));
    count("crowd: nodes deleted");
  }

  async #names(kind: Kind, prefix: string): Promise<string[]> {
    const { cluster, attempt } = this.#options;
    const resource = cluster.client.resource(kind);
    const list = await attempt(() => resource.list(kind.namespaced ? { namespace } : {}));
    return (list?.items ?? []).map(({ metadata }) => metadata.name).filter((name) => name.startsWith(prefix));
  }

  /** Ends the disturbances and deletes all that makes pods. */
  async end(): Promise<void> {
    const { client } = this.#options.cluster;
    for (let tries = 3; tries > 0; tries--) for (const device of [...this.#broken]) await this.#heal(device);
    if (this.#broken.size > 0)
      throw new Error(`devices could not be healed: ${[...this.#broken].join(", ")}`);
    await client.resource(DeviceTaintRule).deleteCollection({});
    for (const kind of workloadKinds)
      await client
        .resource(kind)
        .deleteCollection({ namespace }, { propagationPolicy: "Background" } as never);
    await client.resource(PodGroup).deleteCollection({ namespace });
  }

  kill(): void {
    this.#scheduler?.kill("SIGKILL");
  }
}
