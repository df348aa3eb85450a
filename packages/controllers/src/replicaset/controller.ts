import { type Kind, type LabelSelection, labelSelectorOf } from "@dray/api";
import { ReplicaSet, type ReplicaSetStatus } from "@dray/api/apps/v1";
import { Pod, ReplicationController } from "@dray/api/core/v1";
import { isPodActive, isPodReady, isPodTerminal } from "@dray/api/pod";
import { hasReached, keyOf, refOf, timeText } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { claimObjects } from "../shared/controller-ref-manager.ts";
import { followPods } from "../shared/follow-pods.ts";
import { controllerOf } from "../shared/owners.ts";
import { podControl } from "../shared/pod-control.ts";
import { byDeletionPreference } from "../shared/pod-ranking.ts";
import { isAvailable, untilAvailable } from "../shared/pods.ts";
import { nonZeroCounts, withCondition, writeStatus } from "../shared/status.ts";
import { isRejected, RejectionBackOff } from "./rejection-back-off.ts";

/** Pods made or deleted in one go. */
const burst = 500;

type Replicated = ReplicaSet | ReplicationController;

/** How the two kinds differ. */
interface Replication<O extends Replicated> {
  readonly kind: Kind<O>;
  readonly component: string;
  /** Whether the status counts pods that are being deleted (KEP-3973). */
  readonly countsTerminating: boolean;
  selectorOf(set: O): LabelSelection;
}

/** Keeps as many pods of each ReplicaSet as its spec says. */
export function startReplicaSetController(context: ControllerContext): Promise<Controller> {
  return startReplication<ReplicaSet>(context, {
    kind: ReplicaSet,
    component: "replicaset-controller",
    countsTerminating: context.features.enabled("DeploymentReplicaSetTerminatingReplicas"),
    selectorOf: ({ spec }) => labelSelectorOf(spec.selector),
  });
}

/**
 * Keeps as many pods of each ReplicationController as its spec says. Upstream: pkg/controller/replication.
 */
export function startReplicationController(context: ControllerContext): Promise<Controller> {
  return startReplication<ReplicationController>(context, {
    kind: ReplicationController,
    component: "replication-controller",
    countsTerminating: false,
    selectorOf: ({ spec }) => labelSelectorOf({ matchLabels: spec.selector ?? {} }),
  });
}

async function startReplication<O extends Replicated>(
  context: ControllerContext,
  { kind, component, countsTerminating, selectorOf }: Replication<O>,
): Promise<Controller> {
  const { client, clock, informers } = context;
  const sets = informers.of(kind);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, component);
  const control = podControl(client, kind, pods, recorder);
  const rejections = new RejectionBackOff(clock);
  await synced(context, [sets, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue(kind.kind === "ReplicaSet" ? "replicaset" : "replicationmanager", reconcile);

  const setChanged = (set: O): void => queue.add(keyOf(set.metadata));
  sets.handle({
    add: setChanged,
    update: setChanged,
    delete: (set) => rejections.forget(set.metadata.uid),
  });
  pods.handle({
    update(pod, old) {
      const controller = controllerOf(pod);
      if (controller !== undefined && isRejected(pod) && !isRejected(old)) rejections.add(controller.uid);
    },
  });
  followPods(pods, { kind, owners: sets, selectorOf }, (key) => queue.add(key));

  async function reconcile(key: string): Promise<void> {
    const set = sets.get(refOf(key));
    if (set === undefined) return;
    const candidates = pods.byIndex("namespace", set.metadata.namespace).filter(isPodActive);
    const selector = selectorOf(set);
    // Would select every pod: the API server refuses it, other servers may not.
    if (selector.empty) return;
    const managed = await claimObjects(client, { kind, owner: set, selector }, Pod, candidates);
    let failure: unknown;
    if (set.metadata.deletionTimestamp === undefined) {
      try {
        if (await scale(key, set, managed)) return queue.add(key);
      } catch (error) {
        failure = error;
      }
    }
    const terminatingReplicas = countsTerminating ? countTerminating(set, selector) : undefined;
    const status = statusOf(set, managed, { terminatingReplicas, failure }, clock.now());
    const written = await writeStatus(client, kind, set, status as NonNullable<O["status"]>);
    if (written !== set) await sets.until(() => hasReached(sets, written));
    if (failure !== undefined) throw failure;
    const next = untilAvailable(managed, set.spec.minReadySeconds ?? 0, clock.now());
    if (next !== undefined) queue.addAfter(key, next);
  }

  function countTerminating({ metadata }: O, selector: LabelSelection): number {
    return pods
      .byIndex("controller", metadata.uid)
      .filter(
        (pod) =>
          pod.metadata.deletionTimestamp !== undefined &&
          !isPodTerminal(pod) &&
          selector.matches(pod.metadata.labels),
      ).length;
  }

  /** Returns whether anything had to be done. */
  async function scale(key: string, set: O, managed: readonly Pod[]): Promise<boolean> {
    const missing = (set.spec.replicas ?? 1) - managed.length;
    const { template } = set.spec;
    if (missing > 0 && template !== undefined) {
      const held = rejections.held(set.metadata.uid);
      if (held.pods > 0) queue.addAfter(key, held.wait);
      if (missing <= held.pods) return false;
      await control.create(set, new Array(Math.min(missing - held.pods, burst)).fill(template));
      // In a namespace that is being deleted nothing came of it.
      return pods.byIndex("controller", set.metadata.uid).filter(isPodActive).length > managed.length;
    }
    if (missing < 0) {
      const spare = byDeletionPreference(managed, { related: relatedPods(set, managed), now: clock.now() });
      await control.delete(set, spare.slice(0, Math.min(-missing, burst)));
      return true;
    }
    return false;
  }

  /** The pods of all sets with the same owner: a Deployment spreads them together. */
  function relatedPods(set: O, managed: readonly Pod[]): readonly Pod[] {
    const owner = controllerOf(set);
    if (owner === undefined || kind.kind !== ReplicaSet.kind) return managed;
    return sets
      .byIndex("controller", owner.uid)
      .flatMap(({ metadata }) => pods.byIndex("controller", metadata.uid));
  }

  return queues.controller;
}

/**
 * The condition ReplicaFailure stays as it was first set until the failure is over: messages name pods, and a
 * new one with each round would be a change that asks for the next round, whatever the back-off.
 *
 * Upstream: pkg/controller/replicaset/replica_set_utils.go, calculateStatus.
 */
function conditionsOf(
  { spec, status }: Replicated,
  managed: readonly Pod[],
  failure: unknown,
  now: number,
): NonNullable<ReplicaSetStatus["conditions"]> {
  const old = status?.conditions ?? [];
  const isFailure = ({ type }: (typeof old)[number]): boolean => type === "ReplicaFailure";
  if (failure === undefined) return old.filter((condition) => !isFailure(condition));
  if (old.some(isFailure)) return old;
  const condition = {
    type: "ReplicaFailure",
    status: "True",
    reason: managed.length < (spec.replicas ?? 1) ? "FailedCreate" : "FailedDelete",
    message: failure instanceof Error ? failure.message : String(failure),
  };
  return withCondition(old, condition, timeText(now));
}

function statusOf(
  set: Replicated,
  managed: readonly Pod[],
  {
    terminatingReplicas,
    failure,
  }: { readonly terminatingReplicas: number | undefined; readonly failure: unknown },
  now: number,
): ReplicaSetStatus {
  const labels = Object.entries(set.spec.template?.metadata?.labels ?? {});
  const fullyLabeled = managed.filter((pod) =>
    labels.every(([name, value]) => pod.metadata.labels?.[name] === value),
  );
  const conditions = conditionsOf(set, managed, failure, now);
  const counts = {
    fullyLabeledReplicas: fullyLabeled.length,
    readyReplicas: managed.filter(isPodReady).length,
    availableReplicas: managed.filter((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now)).length,
  };
  return {
    replicas: managed.length,
    ...nonZeroCounts(counts),
    ...(terminatingReplicas === undefined ? {} : { terminatingReplicas }),
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}
