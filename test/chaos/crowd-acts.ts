import type { Kind } from "@dray/api";
import { Namespace, Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import {
  crowdPod,
  crowdTemplates,
  gang,
  priorityClass,
  sharedClaim,
  sharedClaims,
  workload,
  workloadKinds,
} from "./crowd.ts";
import type { Act, CrowdOptions } from "./crowd-options.ts";
import { Spaces } from "./crowd-spaces.ts";
import { Trouble } from "./crowd-trouble.ts";
import { namespace } from "./pods.ts";

/** Maximum number of pods of a crowd that its acts make; workloads make more. */
const maxPods = 250;
const maxWorkloads = 12;

/**
 * Pods on nodes with simulated devices, and what happens to these: taints, breaks, deletions, a second
 * scheduler that is killed. Pods of a crowd may be evicted or preempted, so that the ledger of acknowledged
 * writes does not hold them.
 */
export class Crowd {
  readonly #options: CrowdOptions;
  readonly #trouble: Trouble;
  readonly #spaces: Spaces;
  #number = 0;

  constructor(options: CrowdOptions) {
    this.#options = options;
    this.#trouble = new Trouble(options);
    this.#spaces = new Spaces(options);
  }

  async start(): Promise<void> {
    const { client } = this.#options.cluster;
    await client.resource(Namespace).patch({ name: namespace }, "merge", {
      metadata: { labels: { "resource.kubernetes.io/admin-access": "true" } },
    });
    await client.resource(PriorityClass).create(priorityClass as never);
    for (const one of crowdTemplates(namespace))
      await client.resource(ResourceClaimTemplate).create(one as never);
    this.#trouble.start();
  }

  /** Every act, with its weight among all. */
  get acts(): readonly Act[] {
    return [
      [60, () => this.#createPods()],
      [12, () => this.#createGang()],
      [30, () => this.#deletePods()],
      [6, () => this.#createWorkload()],
      [4, () => this.#changeWorkload()],
      [6, () => this.#deleteOne(workloadKinds[this.#options.random.below(3)]!, "workloads")],
      [6, () => this.#deleteOne(PodGroup, "pod groups")],
      [8, () => this.#deleteOne(ResourceClaim, "claims in use")],
      [8, () => this.#createClaim()],
      ...this.#spaces.acts,
      ...this.#trouble.acts,
    ];
  }

  /** Creates some pods at once, so that they compete. */
  async #createPods(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const pods = Array.from({ length: random.pick([1, 1, 2, 8]) }, () => crowdPod(random, ++this.#number));
    if ((await this.#names(Pod, "")).length >= maxPods) return;
    await Promise.all(pods.map((pod) => attempt(() => cluster.client.resource(Pod).create(pod as never))));
    for (const _ of pods) count("crowd: pods created");
  }

  async #createGang(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const { group, pods } = gang(random, ++this.#number);
    if ((await this.#names(Pod, "")).length >= maxPods) return;
    await attempt(() => cluster.client.resource(PodGroup).create(group as never));
    for (const pod of pods) await attempt(() => cluster.client.resource(Pod).create(pod as never));
    count("crowd: gangs created");
  }

  async #createClaim(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const claim = sharedClaim(random);
    const known = await this.#names(ResourceClaim, claim.metadata.name);
    if (known.length > 0) return;
    await attempt(() => cluster.client.resource(ResourceClaim).create(claim as never));
    count("crowd: shared claims created");
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

  /** Gives a Deployment or a StatefulSet another number of pods, or new pods in the place of all. */
  async #changeWorkload(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const kind = workloadKinds[random.below(2)]!;
    const number = ++this.#number;
    const change = random.chance(0.5)
      ? { replicas: random.below(5) }
      : { template: { metadata: { annotations: { change: `${number}` } } } };
    const names = await this.#names(kind, "");
    if (names.length === 0) return;
    const key = { namespace, name: random.pick(names) };
    await attempt(() => cluster.client.resource(kind).patch(key as never, "merge", { spec: change }));
    count("crowd: workloads changed");
  }

  /** Deletes an object of the crowd by chance. */
  async #deleteOne(kind: Kind, what: string): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const names = await this.#names(kind, kind.kind === "ResourceClaim" ? "crowd-" : "");
    if (names.length === 0) return;
    const key = { namespace, name: random.pick(names) };
    await attempt(() =>
      cluster.client.resource(kind).delete(key as never, { propagationPolicy: "Background" }),
    );
    count(`crowd: ${what} deleted`);
  }

  async #names(kind: Kind, prefix: string): Promise<string[]> {
    const { cluster, attempt } = this.#options;
    const list = await attempt(() => cluster.client.resource(kind).list({ namespace }));
    return (list?.items ?? []).map(({ metadata }) => metadata.name).filter((name) => name.startsWith(prefix));
  }

  /** Ends the disturbances and deletes all that makes pods. */
  async end(): Promise<void> {
    const { client } = this.#options.cluster;
    await this.#trouble.end();
    for (const kind of workloadKinds)
      await client
        .resource(kind)
        .deleteCollection({ namespace }, { propagationPolicy: "Background" } as never);
    await client.resource(PodGroup).deleteCollection({ namespace });
    await this.#spaces.end();
  }

  /** Deletes what the pods have used; they are gone. */
  async tidyUp(): Promise<void> {
    const { client } = this.#options.cluster;
    const names = await this.#names(ResourceClaim, "crowd-shared");
    for (const name of names.filter((each) => sharedClaims.includes(each)))
      await client.resource(ResourceClaim).delete({ namespace, name });
  }

  kill(): Promise<void> {
    return this.#trouble.kill();
  }
}
