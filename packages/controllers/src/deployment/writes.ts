import { isDeepStrictEqual } from "node:util";
import { StatusError } from "@dray/api";
import { Deployment, type DeploymentStatus, ReplicaSet } from "@dray/api/apps/v1";
import {
  type Client,
  type EventRecorder,
  hasReached,
  type Informer,
  isNamespaceTerminating,
} from "@dray/client";
import { nameHash } from "../shared/name-hash.ts";
import { controllerOf, controllerReference } from "../shared/owners.ts";
import { refTo, writeStatus } from "../shared/status.ts";
import {
  findNewSet,
  isRolling,
  largest,
  maxSurge,
  oldestFirst,
  podTemplateHash,
  revisionAnnotation,
  revisionOf,
  type Scaling,
  setAnnotations,
  sizeAnnotations,
  sizeOf,
  sum,
  wantedReplicas,
} from "./plan.ts";

/** Writes of the Deployment controller; each waits for the cache to have what it wrote. */
export class DeploymentWrites {
  readonly #client: Client;
  readonly #deployments: Informer<Deployment>;
  readonly #sets: Informer<ReplicaSet>;
  readonly #recorder: EventRecorder;

  constructor(
    client: Client,
    deployments: Informer<Deployment>,
    sets: Informer<ReplicaSet>,
    recorder: EventRecorder,
  ) {
    this.#client = client;
    this.#deployments = deployments;
    this.#sets = sets;
    this.#recorder = recorder;
  }

  async setStatus(deployment: Deployment, status: DeploymentStatus): Promise<void> {
    const written = await writeStatus(this.#client, Deployment, deployment, status);
    if (written !== deployment) await this.#deployments.until(() => hasReached(this.#deployments, written));
  }

  /** The set for the current template; undefined in a namespace that goes away. */
  async createSet(
    deployment: Deployment,
    olds: readonly ReplicaSet[],
    revision: bigint,
  ): Promise<ReplicaSet | "collision" | undefined> {
    const { template, selector, minReadySeconds } = deployment.spec;
    const hash = nameHash(template, deployment.status?.collisionCount);
    const labels = { ...template.metadata?.labels, [podTemplateHash]: hash };
    const room = wantedReplicas(deployment) + maxSurge(deployment) - sum(olds, sizeOf);
    const replicas = isRolling(deployment)
      ? Math.max(0, Math.min(room, wantedReplicas(deployment)))
      : wantedReplicas(deployment);
    const { namespace, name } = deployment.metadata;
    const ref = { namespace, name: `${name}-${hash}` };
    try {
      const set = await this.#client.resource(ReplicaSet).create({
        metadata: {
          ...ref,
          labels,
          annotations: setAnnotations(deployment, undefined, revision),
          ownerReferences: [controllerReference(Deployment, deployment)],
        },
        spec: {
          replicas,
          ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
          selector: { ...selector, matchLabels: { ...selector?.matchLabels, [podTemplateHash]: hash } },
          template: { ...template, metadata: { ...template.metadata, labels } },
        },
      });
      await this.#sets.until(() => hasReached(this.#sets, set));
      if (replicas > 0) this.#recordScaling(deployment, set.metadata.name, 0, replicas);
      return set;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!StatusError.is(error, "AlreadyExists")) {
        const text = error instanceof Error ? error.message : String(error);
        this.#recorder.event(
          deployment,
          "Warning",
          "ReplicaSetCreateError",
          `Failed to create new replica set "${ref.name}": ${text}`,
        );
        throw error;
      }
      const there = await this.#client.resource(ReplicaSet).get(ref);
      // Ours, and only the cache is behind; else another state has the same hash.
      if (controllerOf(there)?.uid === deployment.metadata.uid && findNewSet(deployment, [there])) {
        await this.#sets.until(() => hasReached(this.#sets, there));
        return there;
      }
      return "collision";
    }
  }

  /** Revision and annotations of the set that is current again or still. */
  async markSet(deployment: Deployment, set: ReplicaSet, revision: bigint): Promise<ReplicaSet> {
    const annotations = setAnnotations(deployment, set, largest(revision, revisionOf(set)));
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
    if (
      isDeepStrictEqual(annotations, set.metadata.annotations) &&
      (set.spec.minReadySeconds ?? 0) === minReadySeconds
    ) {
      return set;
    }
    return this.#updateSet({
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...set.spec, minReadySeconds },
    });
  }

  /** `kubectl rollout history` and `undo` read the Deployment's revision. */
  async recordRevision(deployment: Deployment, set: ReplicaSet): Promise<void> {
    const revision = String(revisionOf(set));
    if (deployment.metadata.annotations?.[revisionAnnotation] === revision) return;
    const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: revision };
    // With the status, as upstream's controller does: there annotations do not count in the generation.
    const changed = await this.#client
      .resource(Deployment)
      .update(
        { ...deployment, metadata: { ...deployment.metadata, annotations } },
        { subresource: "status" },
      );
    await this.#deployments.until(() => hasReached(this.#deployments, changed));
  }

  /** Returns whether any size or its annotations had to change. */
  async scaleAll(deployment: Deployment, steps: readonly Scaling[]): Promise<boolean> {
    let changed = false;
    for (const { set, replicas } of steps) {
      const from = sizeOf(set);
      const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
      if (from === replicas && isDeepStrictEqual(annotations, set.metadata.annotations)) continue;
      changed = true;
      await this.#updateSet({
        ...set,
        metadata: { ...set.metadata, annotations },
        spec: { ...set.spec, replicas },
      });
      if (from !== replicas) this.#recordScaling(deployment, set.metadata.name, from, replicas);
    }
    return changed;
  }

  async #updateSet(set: ReplicaSet): Promise<ReplicaSet> {
    const changed = await this.#client.resource(ReplicaSet).update(set);
    await this.#sets.until(() => hasReached(this.#sets, changed));
    return changed;
  }

  #recordScaling(deployment: Deployment, set: string, from: number, to: number): void {
    const message = `Scaled ${to > from ? "up" : "down"} replica set ${set} from ${from} to ${to}`;
    this.#recorder.event(deployment, "Normal", "ScalingReplicaSet", message);
  }

  /** Deletes the oldest sets that run nothing, beyond those kept for a rollback. */
  async forgetOldSets(
    deployment: Deployment,
    olds: readonly ReplicaSet[],
    newSet: ReplicaSet,
  ): Promise<void> {
    const kept = deployment.spec.revisionHistoryLimit ?? 10;
    const idle = (set: ReplicaSet): boolean =>
      sizeOf(set) === 0 && (set.status?.replicas ?? 0) === 0 && set.metadata.deletionTimestamp === undefined;
    if (olds.length <= kept || (newSet.status?.availableReplicas ?? 0) < wantedReplicas(deployment)) return;
    for (const set of oldestFirst(olds).slice(0, olds.length - kept)) {
      if (!idle(set)) continue;
      await this.#client
        .resource(ReplicaSet)
        .delete(refTo(set), { preconditions: { uid: set.metadata.uid } });
    }
  }
}
