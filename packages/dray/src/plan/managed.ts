import type { Kind, KubeObject, NamespacedMeta } from "@dray/api";
import { type DaemonSet, Deployment, ReplicaSet, type StatefulSet } from "@dray/api/apps/v1";
import type { Job } from "@dray/api/batch/v1";
import type { Pod } from "@dray/api/core/v1";
import { controllerOf, podTemplateHash, refersTo } from "@dray/controllers/objects";
import { uidOf } from "../manifests/decode.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";

export type Workload = DaemonSet | Deployment | Job | ReplicaSet | StatefulSet;
export type Owner = KubeObject & { metadata: NamespacedMeta };

/** Assigns the pods and ReplicaSets of a world to their workloads. */
export class Managed {
  readonly #world: World;
  /** By `Kind namespace/name` of the controller. */
  readonly #pods: ReadonlyMap<string, readonly Pod[]>;
  /** Pods of missing ReplicaSets, by `namespace/name` of the Deployment in their names. */
  readonly #orphans: ReadonlyMap<string, readonly Pod[]>;
  /** By `namespace/name` of the Deployment. */
  readonly #sets: ReadonlyMap<string, readonly ReplicaSet[]>;

  constructor(world: World) {
    this.#world = world;
    const pods = world.all("Pod").map(({ object }) => object);
    const sets = world.all("ReplicaSet").map(({ object }) => object);
    this.#pods = Map.groupBy(pods, (pod) => {
      const owner = controllerOf(pod);
      return owner === undefined ? "" : `${owner.kind} ${pod.metadata.namespace}/${owner.name}`;
    });
    this.#orphans = Map.groupBy(pods, (pod) => this.#deploymentName(pod) ?? "");
    this.#sets = Map.groupBy(sets, (set) => {
      const deployment = this.deploymentOf(set);
      return deployment === undefined ? "" : nameOf(deployment);
    });
  }

  /** Returns the pods that the workload itself controls: by uid if a server has set one. */
  pods(kind: Kind, owner: Owner): readonly Pod[] {
    const { uid, namespace, name } = owner.metadata;
    const stored = uid !== uidOf(kind.kind, namespace, name);
    return (this.#pods.get(`${kind.kind} ${namespace}/${name}`) ?? []).filter((pod) => {
      const reference = controllerOf(pod);
      return reference !== undefined && refersTo(kind, reference) && (!stored || reference.uid === uid);
    });
  }

  /** Returns the pods of all ReplicaSets of a Deployment. */
  ofDeployment(deployment: Deployment): readonly Pod[] {
    const name = nameOf(deployment);
    const sets = this.#sets.get(name) ?? [];
    return [...sets.flatMap((set) => this.pods(ReplicaSet, set)), ...(this.#orphans.get(name) ?? [])];
  }

  deploymentOf(set: ReplicaSet): Deployment | undefined {
    const owner = controllerOf(set);
    if (owner === undefined || !refersTo(Deployment, owner)) return undefined;
    return this.#world.find("Deployment", `${set.metadata.namespace}/${owner.name}`);
  }

  /** Returns the pod with that `namespace/name`. */
  pod(name: string): Pod | undefined {
    return this.#world.find("Pod", name);
  }

  /** The name of a ReplicaSet consists of that of its Deployment and the hash in a label of its pods. */
  #deploymentName(pod: Pod): string | undefined {
    const { namespace, labels } = pod.metadata;
    const owner = controllerOf(pod);
    if (owner === undefined || !refersTo(ReplicaSet, owner)) return undefined;
    const suffix = `-${labels?.[podTemplateHash]}`;
    if (!owner.name.endsWith(suffix)) return undefined;
    if (this.#world.find("ReplicaSet", `${namespace}/${owner.name}`) !== undefined) return undefined;
    return `${namespace}/${owner.name.slice(0, -suffix.length)}`;
  }
}
