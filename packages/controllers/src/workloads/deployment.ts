import { isDeepStrictEqual } from "node:util";
import { labelSelectorOf, StatusError } from "@dray/api";
import { Deployment, ReplicaSet } from "@dray/api/apps/v1";
import { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { hasReached, isNamespaceTerminating, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerOf, controllerReference, refersTo } from "../owners.ts";
import { refTo, writeStatus } from "../status.ts";
import { manage } from "./adopt.ts";
import {
  findNewSet,
  isRolling,
  maxSurge,
  oldestFirst,
  planRollingUpdate,
  planScaling,
  podTemplateHash,
  revisionAnnotation,
  revisionOf,
  type Scaling,
  setAnnotations,
  sizeAnnotations,
  sizeOf,
  sum,
  wantedReplicas,
  wasScaled,
} from "./deployment-plan.ts";
import { deploymentStatus, type Progress, untilDeadline } from "./deployment-status.ts";
import { nameHash } from "./hash.ts";

/** Rolls Deployments out: a ReplicaSet for each template, the old ones shrinking as the new one grows. */
export async function startDeploymentController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const deployments = informers.of(Deployment);
  const sets = informers.of(ReplicaSet);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "deployment-controller");
  await synced(context, [deployments, sets, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("deployment", reconcile);
  const deploymentChanged = (deployment: Deployment): void => queue.add(keyOf(deployment.metadata));
  deployments.handle({ add: deploymentChanged, update: deploymentChanged });

  function setChanged(set: ReplicaSet, old?: ReplicaSet): void {
    const controller = controllerOf(set);
    if (old !== undefined && controllerOf(old)?.uid !== controller?.uid) setChanged(old);
    const { namespace } = set.metadata;
    if (controller !== undefined) {
      if (refersTo(Deployment, controller)) queue.add(keyOf({ namespace, name: controller.name }));
      return;
    }
    for (const deployment of deployments.byIndex("namespace", namespace))
      if (labelSelectorOf(deployment.spec.selector).matches(set.metadata.labels))
        deploymentChanged(deployment);
  }
  sets.handle({ add: setChanged, update: setChanged, delete: setChanged });

  // A Recreate waits for the last old pod to be gone.
  pods.handle({
    delete(pod) {
      const controller = controllerOf(pod);
      if (controller === undefined || !refersTo(ReplicaSet, controller)) return;
      const set = sets.get({ namespace: pod.metadata.namespace, name: controller.name });
      if (set !== undefined) setChanged(set);
    },
  });

  async function reconcile(key: string): Promise<void> {
    const deployment = deployments.get(refOf(key));
    if (deployment === undefined) return;
    const selector = labelSelectorOf(deployment.spec.selector);
    // Would select every pod: the API server refuses it, other servers may not.
    if (selector.empty) return;
    const candidates = sets.byIndex("namespace", deployment.metadata.namespace);
    const managed = await manage(client, Deployment, deployment, selector, ReplicaSet, candidates);
    let newSet = findNewSet(deployment, managed);
    const olds = managed.filter((set) => set !== newSet);
    let progress: Progress | undefined;
    let collisions = deployment.status?.collisionCount;

    if (deployment.metadata.deletionTimestamp === undefined) {
      const paused = deployment.spec.paused === true;
      if (paused || wasScaled(deployment, managed)) {
        if (await scaleAll(deployment, planScaling(deployment, newSet, olds))) return queue.add(key);
      } else if (isRolling(deployment) || !(await stillRuns(deployment, olds))) {
        const revision = olds.reduce((most, set) => Math.max(most, revisionOf(set)), 0) + 1;
        if (newSet === undefined) {
          const outcome = await createSet(deployment, olds, revision);
          if (outcome === "collision") collisions = (collisions ?? 0) + 1;
          else if (outcome !== undefined) {
            newSet = outcome;
            progress = { reason: "NewReplicaSetCreated", set: outcome.metadata.name };
          }
        } else {
          const found = await markSet(deployment, newSet, revision);
          progress = { reason: "FoundNewReplicaSet", set: found.metadata.name };
          if (found !== newSet) return queue.add(key);
        }
        if (newSet !== undefined) {
          await recordRevision(deployment, newSet);
          const steps = isRolling(deployment)
            ? planRollingUpdate(deployment, newSet, olds)
            : [{ set: newSet, replicas: wantedReplicas(deployment) }];
          if ((await scaleAll(deployment, steps)) && progress?.reason !== "NewReplicaSetCreated")
            return queue.add(key);
          await forgetOldSets(deployment, olds, newSet);
        }
      }
    }

    const current = deployments.get(refOf(key)) ?? deployment;
    if (current.metadata.uid !== deployment.metadata.uid) return;
    const found =
      progress?.reason === "FoundNewReplicaSet" &&
      deployment.status?.conditions?.some(({ type }) => type === "Progressing");
    const status = deploymentStatus(
      current,
      newSet,
      olds,
      found ? undefined : progress,
      collisions,
      clock.now(),
      context.features.enabled("DeploymentReplicaSetTerminatingReplicas"),
    );
    const written = await writeStatus(client, Deployment, current, status);
    if (written !== current) await deployments.until(() => hasReached(deployments, written));
    if (collisions !== deployment.status?.collisionCount) queue.add(key);
    const deadline = untilDeadline(deployment, status, clock.now());
    if (deadline !== undefined) queue.addAfter(key, deadline);
  }

  /** Old pods of a Recreate: first they are all stopped. */
  async function stillRuns(deployment: Deployment, olds: readonly ReplicaSet[]): Promise<boolean> {
    await scaleAll(
      deployment,
      olds.filter((set) => sizeOf(set) > 0).map((set) => ({ set, replicas: 0 })),
    );
    return olds.some((set) =>
      pods.byIndex("controller", set.metadata.uid).some((pod) => !isPodTerminal(pod)),
    );
  }

  /** The set for the current template; undefined in a namespace that goes away. */
  async function createSet(
    deployment: Deployment,
    olds: readonly ReplicaSet[],
    revision: number,
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
      const set = await client.resource(ReplicaSet).create({
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
      await sets.until(() => hasReached(sets, set));
      if (replicas > 0) tellScaling(deployment, set.metadata.name, 0, replicas);
      return set;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!StatusError.is(error, "AlreadyExists")) {
        const text = error instanceof Error ? error.message : String(error);
        recorder.event(
          deployment,
          "Warning",
          "ReplicaSetCreateError",
          `Failed to create new replica set "${ref.name}": ${text}`,
        );
        throw error;
      }
      const there = await client.resource(ReplicaSet).get(ref);
      // Ours, and only the cache is behind; else another state has the same hash.
      if (controllerOf(there)?.uid === deployment.metadata.uid && findNewSet(deployment, [there])) {
        await sets.until(() => hasReached(sets, there));
        return there;
      }
      return "collision";
    }
  }

  /** Revision and annotations of the set that is current again or still. */
  async function markSet(deployment: Deployment, set: ReplicaSet, revision: number): Promise<ReplicaSet> {
    const annotations = setAnnotations(deployment, set, Math.max(revision, revisionOf(set)));
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
    if (
      isDeepStrictEqual(annotations, set.metadata.annotations) &&
      (set.spec.minReadySeconds ?? 0) === minReadySeconds
    ) {
      return set;
    }
    return updateSet({
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...set.spec, minReadySeconds },
    });
  }

  /** `kubectl rollout history` and `undo` read the Deployment's revision. */
  async function recordRevision(deployment: Deployment, set: ReplicaSet): Promise<void> {
    const revision = String(revisionOf(set));
    if (deployment.metadata.annotations?.[revisionAnnotation] === revision) return;
    const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: revision };
    // With the status, as upstream's controller does: there annotations do not count in the generation.
    const changed = await client
      .resource(Deployment)
      .update(
        { ...deployment, metadata: { ...deployment.metadata, annotations } },
        { subresource: "status" },
      );
    await deployments.until(() => hasReached(deployments, changed));
  }

  /** Returns whether any size or its annotations had to change. */
  async function scaleAll(deployment: Deployment, steps: readonly Scaling[]): Promise<boolean> {
    let changed = false;
    for (const { set, replicas } of steps) {
      const from = sizeOf(set);
      const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
      if (from === replicas && isDeepStrictEqual(annotations, set.metadata.annotations)) continue;
      changed = true;
      await updateSet({
        ...set,
        metadata: { ...set.metadata, annotations },
        spec: { ...set.spec, replicas },
      });
      if (from !== replicas) tellScaling(deployment, set.metadata.name, from, replicas);
    }
    return changed;
  }

  async function updateSet(set: ReplicaSet): Promise<ReplicaSet> {
    const changed = await client.resource(ReplicaSet).update(set);
    await sets.until(() => hasReached(sets, changed));
    return changed;
  }

  function tellScaling(deployment: Deployment, set: string, from: number, to: number): void {
    const message = `Scaled ${to > from ? "up" : "down"} replica set ${set} from ${from} to ${to}`;
    recorder.event(deployment, "Normal", "ScalingReplicaSet", message);
  }

  /** Deletes the oldest sets that run nothing, beyond those kept for a rollback. */
  async function forgetOldSets(
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
      await client.resource(ReplicaSet).delete(refTo(set), { preconditions: { uid: set.metadata.uid } });
    }
  }

  return queues.controller;
}
