import { labelSelectorOf } from "@dray/api";
import { ReplicaSet, type ReplicaSetStatus } from "@dray/api/apps/v1";
import { Pod } from "@dray/api/core/v1";
import { isPodActive, isPodReady } from "@dray/api/pod";
import { hasReached, keyOf, refOf, timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerOf, refersTo } from "../owners.ts";
import { isAvailable, readySince } from "../pods.ts";
import { withCondition, writeStatus } from "../status.ts";
import { manage } from "./adopt.ts";
import { podControl } from "./pod-control.ts";
import { isRejected, Rejections } from "./rejections.ts";

/** Pods made or deleted in one go. */
const burst = 500;

/** Keeps as many pods of each ReplicaSet as its spec says. */
export async function startReplicaSetController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const sets = informers.of(ReplicaSet);
  const pods = informers.of(Pod);
  const recorder = recorderOf(context, "replicaset-controller");
  const control = podControl(client, ReplicaSet, pods, recorder);
  const rejections = new Rejections(clock);
  await synced(context, [sets, pods]);

  const queues = controllerQueues(context);
  const queue = queues.queue("replicaset", reconcile);

  const setChanged = (set: ReplicaSet): void => queue.add(keyOf(set.metadata));
  sets.handle({
    add: setChanged,
    update: setChanged,
    delete: (set) => rejections.forget(set.metadata.uid),
  });

  /** Adds the set that manages the pod, or those that might adopt it. */
  function podChanged(pod: Pod, old?: Pod): void {
    const controller = controllerOf(pod);
    if (old !== undefined && controllerOf(old)?.uid !== controller?.uid) podChanged(old);
    const { namespace } = pod.metadata;
    if (controller !== undefined) {
      if (refersTo(ReplicaSet, controller)) queue.add(keyOf({ namespace, name: controller.name }));
      return;
    }
    for (const set of sets.byIndex("namespace", namespace))
      if (labelSelectorOf(set.spec.selector).matches(pod.metadata.labels)) setChanged(set);
  }
  pods.handle({
    add: podChanged,
    update(pod, old) {
      const controller = controllerOf(pod);
      if (controller !== undefined && isRejected(pod) && !isRejected(old)) rejections.add(controller.uid);
      podChanged(pod, old);
    },
    delete: podChanged,
  });

  async function reconcile(key: string): Promise<void> {
    const set = sets.get(refOf(key));
    if (set === undefined) return;
    const candidates = pods.byIndex("namespace", set.metadata.namespace).filter(isPodActive);
    const selector = labelSelectorOf(set.spec.selector);
    const managed = await manage(client, ReplicaSet, set, selector, Pod, candidates);
    let failure: unknown;
    if (set.metadata.deletionTimestamp === undefined) {
      try {
        if (await scale(key, set, managed)) return queue.add(key);
      } catch (error) {
        failure = error;
      }
    }
    const written = await writeStatus(client, ReplicaSet, set, statusOf(set, managed, failure));
    if (written !== set) await sets.until(() => hasReached(sets, written));
    if (failure !== undefined) throw failure;
    const next = nextAvailable(set, managed);
    if (next !== undefined) queue.addAfter(key, next);
  }

  /** Answers whether anything had to be done. */
  async function scale(key: string, set: ReplicaSet, managed: readonly Pod[]): Promise<boolean> {
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
      await control.delete(set, leastNeeded(managed).slice(0, Math.min(-missing, burst)));
      return true;
    }
    return false;
  }

  function statusOf(set: ReplicaSet, managed: readonly Pod[], failure: unknown): ReplicaSetStatus {
    const now = clock.now();
    const labels = Object.entries(set.spec.template?.metadata?.labels ?? {});
    const fullyLabeled = managed.filter((pod) =>
      labels.every(([name, value]) => pod.metadata.labels?.[name] === value),
    );
    const old = set.status;
    const others = (old?.conditions ?? []).filter(({ type }) => type !== "ReplicaFailure");
    const conditions =
      failure === undefined
        ? others
        : withCondition(
            old?.conditions,
            {
              type: "ReplicaFailure",
              status: "True",
              reason: managed.length < (set.spec.replicas ?? 1) ? "FailedCreate" : "FailedDelete",
              message: failure instanceof Error ? failure.message : String(failure),
            },
            timeText(now),
          );
    const counts = {
      fullyLabeledReplicas: fullyLabeled.length,
      readyReplicas: managed.filter(isPodReady).length,
      availableReplicas: managed.filter((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now)).length,
    };
    return {
      replicas: managed.length,
      ...positive(counts),
      ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
      ...(conditions.length === 0 ? {} : { conditions }),
    };
  }

  /** Milliseconds until a pod that is ready counts as available. */
  function nextAvailable(set: ReplicaSet, managed: readonly Pod[]): number | undefined {
    const wait = (set.spec.minReadySeconds ?? 0) * 1000;
    if (wait === 0) return undefined;
    const times = managed.flatMap((pod) => {
      const since = readySince(pod);
      return since === undefined || since + wait <= clock.now() ? [] : [since + wait - clock.now()];
    });
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
  }

  return queues.controller;
}

/** Counts of zero are left out, as the server's own form does. */
export function positive<T extends Record<string, number>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)) as Partial<T>;
}

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";

/** The pods in the order in which they can be spared (KEP-2255 and the ReplicaSet documentation). */
export function leastNeeded(pods: readonly Pod[]): Pod[] {
  const onNode = new Map<string, number>();
  for (const pod of pods) {
    const node = pod.spec.nodeName ?? "";
    onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const phases = ["Pending", "Unknown", "Running"];
  const rank = (pod: Pod): readonly number[] => [
    pod.spec.nodeName ? 1 : 0,
    phases.indexOf(pod.status?.phase ?? "Pending"),
    isPodReady(pod) ? 1 : 0,
    Number(pod.metadata.annotations?.[deletionCost] ?? 0) || 0,
    // More neighbours of the same set: rather this one.
    -(onNode.get(pod.spec.nodeName ?? "") ?? 0),
    // Ready for a shorter time, more restarts, younger: rather this one.
    -(readySince(pod) ?? 0),
    -(pod.status?.containerStatuses ?? []).reduce(
      (most, { restartCount }) => Math.max(most, restartCount),
      0,
    ),
    -Date.parse(pod.metadata.creationTimestamp),
  ];
  return [...pods]
    .map((pod) => ({ pod, rank: rank(pod) }))
    .sort((a, b) => {
      for (const [index, value] of a.rank.entries()) {
        const difference = value - (b.rank[index] ?? 0);
        if (difference !== 0) return difference;
      }
      return a.pod.metadata.name < b.pod.metadata.name ? -1 : 1;
    })
    .map(({ pod }) => pod);
}
