import { StatusError } from "@dray/api";
import { Namespace, Pod, ResourceQuota } from "@dray/api/core/v1";
import { ResourceClaimTemplate } from "@dray/api/resource/v1";
import { crowdPod, crowdTemplates } from "./crowd.ts";
import { nodeDriver } from "./crowd-fleet.ts";
import type { Act, CrowdOptions } from "./crowd-options.ts";

const maxSpaces = 3;
/** Prefix of the names of namespaces that come and go. */
export const spacePrefix = "chaos-space-";

/** Quota of a namespace (KEP-4840); pods and claims that exceed it are refused. */
const spaceQuota: Readonly<Record<string, string>> = {
  pods: "8",
  "count/resourceclaims.resource.k8s.io": "6",
  [`gpu.${nodeDriver}.deviceclass.resource.k8s.io/devices`]: "3",
};

/** Namespaces with a quota that are deleted with all that is in them, pods that run among it. */
export class Spaces {
  readonly #options: CrowdOptions;
  #number = 0;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  get acts(): readonly Act[] {
    return [
      [3, () => this.#create()],
      [10, () => this.#createPod()],
      [2, () => this.#delete()],
    ];
  }

  async #create(): Promise<void> {
    const { cluster, attempt, count } = this.#options;
    const name = `${spacePrefix}${++this.#number}`;
    if ((await this.#names()).length >= maxSpaces) return;
    const labels = { "resource.kubernetes.io/admin-access": "true" };
    await attempt(() => cluster.client.resource(Namespace).create({ metadata: { name, labels } } as never));
    await attempt(() =>
      cluster.client.resource(ResourceQuota).create({
        metadata: { name: "quota", namespace: name },
        spec: { hard: spaceQuota },
      } as never),
    );
    for (const one of crowdTemplates(name))
      await attempt(() => cluster.client.resource(ResourceClaimTemplate).create(one as never));
    count("crowd: namespaces created");
  }

  async #createPod(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const number = ++this.#number;
    const names = await this.#names();
    if (names.length === 0) return;
    const pod = crowdPod(random, number, random.pick(names));
    await attempt(async () => {
      try {
        await cluster.client.resource(Pod).create(pod as never);
        count("crowd: pods with a quota created");
      } catch (error) {
        // By the quota, or because the namespace is about to go.
        if (!StatusError.is(error, "Forbidden")) throw error;
        count("crowd: pods refused by quota");
      }
    });
  }

  async #delete(): Promise<void> {
    const { random, cluster, attempt, count } = this.#options;
    const names = await this.#names();
    if (names.length === 0) return;
    const name = random.pick(names);
    await attempt(() => cluster.client.resource(Namespace).delete({ name }));
    count("crowd: namespaces deleted");
  }

  async #names(): Promise<string[]> {
    const { cluster, attempt } = this.#options;
    const list = await attempt(() => cluster.client.resource(Namespace).list());
    return (list?.items ?? [])
      .filter(({ metadata }) => metadata.name.startsWith(spacePrefix) && !metadata.deletionTimestamp)
      .map(({ metadata }) => metadata.name);
  }

  async end(): Promise<void> {
    for (const name of await this.#names())
      await this.#options.cluster.client.resource(Namespace).delete({ name });
  }
}
