import { StatusError } from "@dray/api";
import { Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { type Pod, ReplicationController } from "@dray/api/core/v1";
import type { OwnerReference } from "@dray/api/meta/v1";
import { type ControllerContext, synced } from "../shared/context.ts";
import { controllerOf, refersTo } from "../shared/owners.ts";
import { scalesOf } from "../shared/scales.ts";

/** How many pods workloads want. */
export interface WorkloadSizes {
  /**
   * The sum over the workloads of these pods, and how many of the pods have none. Rejects if one has no size.
   */
  total(pods: readonly Pod[]): Promise<{ readonly total: number; readonly unmanaged: number }>;
}

export async function workloadSizes(context: ControllerContext): Promise<WorkloadSizes> {
  const { informers } = context;
  const deployments = informers.of(Deployment);
  const replicaSets = informers.of(ReplicaSet);
  const statefulSets = informers.of(StatefulSet);
  const replicationControllers = informers.of(ReplicationController);
  const scales = scalesOf(context.client);
  await synced(context, [deployments, replicaSets, statefulSets, replicationControllers]);

  type Sized = { metadata: { uid: string }; spec: { replicas?: number } };
  const sizeOf = (object: Sized | undefined, { uid }: OwnerReference): [string, number] | undefined =>
    object?.metadata.uid === uid ? [uid, object.spec.replicas ?? 1] : undefined;

  /** Uid and size of a pod's controller; the Deployment's for a ReplicaSet of a Deployment. */
  async function find(owner: OwnerReference, namespace: string): Promise<[string, number] | undefined> {
    const ref = { namespace, name: owner.name };
    if (refersTo(ReplicationController, owner)) return sizeOf(replicationControllers.get(ref), owner);
    if (refersTo(StatefulSet, owner)) return sizeOf(statefulSets.get(ref), owner);
    if (refersTo(ReplicaSet, owner)) {
      const set = replicaSets.get(ref);
      const above = set && controllerOf(set);
      if (above === undefined || set?.metadata.uid !== owner.uid || !refersTo(Deployment, above))
        return sizeOf(set, owner);
      return sizeOf(deployments.get({ namespace, name: above.name }), above);
    }
    try {
      const { scale } = await scales.get({ namespace, ...owner });
      return scale.metadata.uid === owner.uid ? [owner.uid, scale.spec?.replicas ?? 0] : undefined;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      const resource = await scales.unscalable({ namespace, ...owner });
      if (resource === undefined) return undefined;
      throw new Error(`${resource} does not implement the scale subresource`);
    }
  }

  return {
    async total(pods) {
      const found = new Map<string, Promise<[string, number] | undefined>>();
      let unmanaged = 0;
      for (const pod of pods) {
        const owner = controllerOf(pod);
        if (owner === undefined) unmanaged++;
        else if (!found.has(owner.uid)) found.set(owner.uid, find(owner, pod.metadata.namespace));
        if (owner !== undefined && (await found.get(owner.uid)) === undefined)
          throw new Error(`found no controllers for pod "${pod.metadata.name}"`);
      }
      const sizes = new Map((await Promise.all(found.values())).flatMap((size) => (size ? [size] : [])));
      return { total: [...sizes.values()].reduce((sum, size) => sum + size, 0), unmanaged };
    },
  };
}
