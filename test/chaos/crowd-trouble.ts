import { join } from "node:path";
import { StatusError } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { DeviceTaintRule } from "@dray/api/resource/v1";
import { ResourcePoolStatusRequest } from "@dray/api/resource/v1alpha3";
import { dray } from "../harness.ts";
import { secondScheduler, taintEffects, taintRule } from "./crowd.ts";
import { nodeDriver, randomDevice } from "./crowd-fleet.ts";
import type { Act, CrowdOptions } from "./crowd-options.ts";
import { ProcessPart } from "./part.ts";

const maxRules = 4;
const maxBroken = 6;
const maxTainted = 3;
const maxRequests = 5;
const nodeTaint = "chaos";
/** Milliseconds within which all is healed in the end. */
const healTimeout = 90_000;

/** Disturbs the nodes of a crowd, their devices, the second scheduler and the parts of the cluster. */
export class Trouble {
  readonly #options: CrowdOptions;
  readonly #broken = new Set<string>();
  readonly #tainted = new Set<string>();
  #number = 0;
  #scheduler: ProcessPart | undefined;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** Starts the second scheduler. */
  start(): void {
    const { layout, gates } = this.#options.cluster;
    const flags = ["--kubeconfig", layout.kubeconfig, "--scheduler-name", secondScheduler];
    // Its lease is another than that of the cluster's own scheduler, which does not wait for one.
    const lease = ["--leader-elect", "true", "--leader-elect-resource-name", secondScheduler];
    this.#scheduler = new ProcessPart({
      name: "the second scheduler",
      args: ["scheduler", ...flags, ...lease, "--feature-gates", gates],
      logFile: join(layout.logs, "second-scheduler.log"),
      maxAway: 1000,
      freezes: true,
    });
  }

  get acts(): readonly Act[] {
    return [
      [6, () => this.#createRule()],
      [3, () => this.#changeRule()],
      [4, () => this.#deleteRule()],
      [2, () => this.#breakOrHeal()],
      [3, () => this.#taintNode()],
      [3, () => this.#untaintNode()],
      [3, () => this.#askForPools()],
      [2, () => this.#deleteDriver()],
      [2, () => this.#disturbScheduler()],
      [1, () => this.#deleteNode()],
      [6, () => this.#killPart()],
    ];
  }

  async #rules(): Promise<string[]> {
    const { cluster, attempt } = this.#options;
    const list = await attempt(() => cluster.client.resource(DeviceTaintRule).list());
    return (list?.items ?? []).map(({ metadata }) => metadata.name);
  }

  async #createRule(): Promise<void> {
    const { random, cluster, attempt, count, nodes } = this.#options;
    const rule = taintRule(random, ++this.#number, nodes);
    if ((await this.#rules()).length >= maxRules) return;
    await attempt(() => cluster.client.resource(DeviceTaintRule).create(rule as never));
    count("crowd: taint rules created");
  }

  async #changeRule(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const effect = random.pick(taintEffects);
    const names = await this.#rules();
    if (names.length === 0) return;
    const key = { name: random.pick(names) };
    await attempt(() =>
      cluster.client.resource(DeviceTaintRule).patch(key, "merge", { spec: { taint: { effect } } }),
    );
    count("crowd: taint rules changed");
  }

  async #deleteRule(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const names = await this.#rules();
    if (names.length === 0) return;
    const name = random.pick(names);
    await attempt(() => cluster.client.resource(DeviceTaintRule).delete({ name }));
    count("crowd: taint rules deleted");
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

  /** Keeps pods from a node, or drives them from it. */
  async #taintNode(): Promise<void> {
    const { random, nodes, count } = this.#options;
    const name = random.pick(nodes);
    const effect = random.pick(["NoSchedule", "NoExecute"]);
    if (this.#tainted.size >= maxTainted) return;
    this.#tainted.add(name);
    await this.#setTaint(name, [{ key: nodeTaint, effect }]);
    count("crowd: nodes tainted");
  }

  async #untaintNode(): Promise<void> {
    const { random } = this.#options;
    if (this.#tainted.size === 0) return;
    const name = random.pick([...this.#tainted]);
    if (await this.#setTaint(name, [])) this.#tainted.delete(name);
  }

  /** Returns true if the node has these taints of ours and no others, or if there is no such node. */
  async #setTaint(name: string, own: readonly object[]): Promise<boolean> {
    const { cluster, attempt } = this.#options;
    const done = await attempt(async () => {
      try {
        const node = await cluster.client.resource(Node).get({ name });
        const others = (node.spec?.taints ?? []).filter(({ key }) => key !== nodeTaint);
        await cluster.client.resource(Node).patch({ name }, "merge", {
          metadata: { resourceVersion: node.metadata.resourceVersion },
          spec: { taints: [...others, ...own] },
        });
      } catch (error) {
        if (!StatusError.is(error, "NotFound")) throw error;
      }
      return true;
    });
    return done === true;
  }

  /** Creates a request for the status of pools (KEP-5677), or deletes one where there are many. */
  async #askForPools(): Promise<void> {
    const { random, cluster, attempt, count, nodes } = this.#options;
    const name = `pools-${++this.#number}`;
    const pool = random.chance(0.5) ? { poolName: random.pick(nodes) } : {};
    const requests = cluster.client.resource(ResourcePoolStatusRequest);
    const known = (await attempt(() => requests.list()))?.items ?? [];
    if (known.length >= maxRequests) {
      const { metadata } = random.pick(known);
      await attempt(() => requests.delete({ name: metadata.name }));
      return;
    }
    const spec = { driver: nodeDriver, ...pool };
    await attempt(() => requests.create({ metadata: { name }, spec } as never));
    count("crowd: pool status requests created");
  }

  /** Deletes a pod that runs the example driver; its DaemonSet creates another. */
  async #deleteDriver(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const list = await attempt(() => cluster.client.resource(Pod).list({ namespace: "dra-tutorial" }));
    const names = (list?.items ?? [])
      .filter(({ spec }) => spec.nodeName !== cluster.nodes[2])
      .map(({ metadata }) => metadata.name);
    if (names.length === 0) return;
    const name = random.pick(names);
    await attempt(() =>
      cluster.client.resource(Pod).delete({ namespace: "dra-tutorial", name }, { gracePeriodSeconds: 1 }),
    );
    count("crowd: driver pods deleted");
  }

  /** Kills the second scheduler, or stops it for a while: its lease may end meanwhile. */
  async #disturbScheduler(): Promise<void> {
    const { random, count } = this.#options;
    if (this.#scheduler !== undefined) count(`${this.#scheduler.disturb(random)} of ${this.#scheduler.name}`);
  }

  /** Kills or stops for a while one of the parts that the cluster starts again by itself. */
  async #killPart(): Promise<void> {
    const { random, cluster, count } = this.#options;
    const { parts } = cluster;
    if (parts.length === 0) return;
    const part = random.pick(parts);
    count(`${part.disturb(random)} of ${part.name}`);
  }

  /** Deletes a Node; its agent registers it again. */
  async #deleteNode(): Promise<void> {
    const { random, cluster, attempt, nodes, count } = this.#options;
    const name = random.pick(nodes);
    await attempt(() => cluster.client.resource(Node).delete({ name }));
    count("crowd: nodes deleted");
  }

  /** Heals what is broken and takes back all taints. */
  async end(): Promise<void> {
    const { client } = this.#options.cluster;
    // The drivers may be stopped or away still.
    const deadline = performance.now() + healTimeout;
    while (this.#broken.size + this.#tainted.size > 0 && performance.now() < deadline) {
      for (const device of [...this.#broken]) await this.#heal(device);
      for (const name of [...this.#tainted]) if (await this.#setTaint(name, [])) this.#tainted.delete(name);
    }
    const left = [...this.#broken, ...this.#tainted];
    if (left.length > 0) throw new Error(`devices and nodes could not be healed: ${left.join(", ")}`);
    await client.resource(DeviceTaintRule).deleteCollection({});
    await client.resource(ResourcePoolStatusRequest).deleteCollection({});
  }

  async kill(): Promise<void> {
    await this.#scheduler?.stop();
  }
}
