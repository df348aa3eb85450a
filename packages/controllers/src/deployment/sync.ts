import { labelSelectorOf } from "@dray/api";
import { Deployment, ReplicaSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { type Informer, refOf, type WorkQueue } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { claimObjects } from "../shared/controller-ref-manager.ts";
import {
  findNewSet,
  isRolling,
  nextRevision,
  planRollingUpdate,
  planScaling,
  sizeOf,
  wantedReplicas,
  wasScaled,
} from "./plan.ts";
import { deploymentStatus, type Progress, untilDeadline } from "./status.ts";
import type { DeploymentWrites } from "./writes.ts";

export interface DeploymentCaches {
  readonly deployments: Informer<Deployment>;
  readonly sets: Informer<ReplicaSet>;
  readonly pods: Informer<Pod>;
}

/** Result of a sync, for the status. */
interface Outcome {
  readonly newSet: ReplicaSet | undefined;
  readonly progress?: Progress | undefined;
  /** The template has the hash of another one. */
  readonly collides?: boolean;
}

/** Brings the ReplicaSets of one Deployment to what it says. */
export class DeploymentSync {
  readonly #context: ControllerContext;
  readonly #caches: DeploymentCaches;
  readonly #writes: DeploymentWrites;
  readonly #queue: () => WorkQueue;

  constructor(
    context: ControllerContext,
    caches: DeploymentCaches,
    writes: DeploymentWrites,
    queue: () => WorkQueue,
  ) {
    this.#context = context;
    this.#caches = caches;
    this.#writes = writes;
    this.#queue = queue;
  }

  async reconcile(key: string): Promise<void> {
    const { deployments, sets } = this.#caches;
    const deployment = deployments.get(refOf(key));
    if (deployment === undefined) return;
    const selector = labelSelectorOf(deployment.spec.selector);
    // Would select every pod: the API server refuses it, other servers may not.
    if (selector.empty) return;
    const candidates = sets.byIndex("namespace", deployment.metadata.namespace);
    const { client } = this.#context;
    const managed = await claimObjects(
      client,
      { kind: Deployment, owner: deployment, selector },
      ReplicaSet,
      candidates,
    );
    const newSet = findNewSet(deployment, managed);
    const olds = managed.filter((set) => set !== newSet);
    const isGoing = deployment.metadata.deletionTimestamp !== undefined;
    const outcome = isGoing ? { newSet } : await this.#advance(deployment, managed, newSet, olds);
    if (outcome === undefined) return this.#queue().add(key);
    await this.#report(key, deployment, olds, outcome);
  }

  /** Takes the next step. Returns undefined if the caches must be read again before the following one. */
  async #advance(
    deployment: Deployment,
    managed: readonly ReplicaSet[],
    newSet: ReplicaSet | undefined,
    olds: readonly ReplicaSet[],
  ): Promise<Outcome | undefined> {
    if (deployment.spec.paused === true || wasScaled(deployment, managed)) {
      const scaled = await this.#writes.scaleAll(deployment, planScaling(deployment, newSet, olds));
      return scaled ? undefined : { newSet };
    }
    if (!isRolling(deployment) && (await this.#stillRuns(deployment, olds))) return { newSet };
    const revision = nextRevision(olds);
    if (newSet === undefined) {
      const made = await this.#writes.createSet(deployment, olds, revision);
      if (made === undefined) return { newSet };
      if (made === "collision") return { newSet, collides: true };
      await this.#rollOut(deployment, made, olds);
      await this.#writes.forgetOldSets(deployment, olds, made);
      return { newSet: made, progress: { reason: "NewReplicaSetCreated", set: made.metadata.name } };
    }
    const found = await this.#writes.markSet(deployment, newSet, revision);
    if (found !== newSet || (await this.#rollOut(deployment, newSet, olds))) return undefined;
    await this.#writes.forgetOldSets(deployment, olds, newSet);
    return { newSet, progress: { reason: "FoundNewReplicaSet", set: found.metadata.name } };
  }

  /**
   * Grows the new set and shrinks the others, as far as the strategy allows. Returns whether any size had to
   * change.
   */
  async #rollOut(deployment: Deployment, newSet: ReplicaSet, olds: readonly ReplicaSet[]): Promise<boolean> {
    await this.#writes.recordRevision(deployment, newSet);
    const steps = isRolling(deployment)
      ? planRollingUpdate(deployment, newSet, olds)
      : [{ set: newSet, replicas: wantedReplicas(deployment) }];
    return this.#writes.scaleAll(deployment, steps);
  }

  async #report(
    key: string,
    deployment: Deployment,
    olds: readonly ReplicaSet[],
    { newSet, progress, collides }: Outcome,
  ): Promise<void> {
    const { clock, features } = this.#context;
    const current = this.#caches.deployments.get(refOf(key)) ?? deployment;
    if (current.metadata.uid !== deployment.metadata.uid) return;
    const { conditions, collisionCount } = deployment.status ?? {};
    const collisions = collides === true ? (collisionCount ?? 0) + 1 : collisionCount;
    const isKnown =
      progress?.reason === "FoundNewReplicaSet" && conditions?.some(({ type }) => type === "Progressing");
    const status = deploymentStatus(
      current,
      { newSet, olds },
      {
        progress: isKnown ? undefined : progress,
        collisionCount: collisions,
        countsTerminating: features.enabled("DeploymentReplicaSetTerminatingReplicas"),
      },
      clock.now(),
    );
    await this.#writes.setStatus(current, status);
    if (collides === true) this.#queue().add(key);
    const deadline = untilDeadline(deployment, status, clock.now());
    if (deadline !== undefined) this.#queue().addAfter(key, deadline);
  }

  /** Old pods of a Recreate: first they are all stopped. */
  async #stillRuns(deployment: Deployment, olds: readonly ReplicaSet[]): Promise<boolean> {
    await this.#writes.scaleAll(
      deployment,
      olds.filter((set) => sizeOf(set) > 0).map((set) => ({ set, replicas: 0 })),
    );
    return olds.some((set) =>
      this.#caches.pods.byIndex("controller", set.metadata.uid).some((pod) => !isPodTerminal(pod)),
    );
  }
}
