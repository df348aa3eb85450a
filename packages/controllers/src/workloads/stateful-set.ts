import { labelSelectorOf, StatusError } from "@dray/api";
import { ControllerRevision, StatefulSet, type StatefulSetStatus } from "@dray/api/apps/v1";
import { PersistentVolumeClaim, Pod, type PodTemplateSpec } from "@dray/api/core/v1";
import { hasReached, isNamespaceTerminating, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerReference } from "../owners.ts";
import { isAvailable, untilAvailable } from "../pods.ts";
import { writeStatus } from "../status.ts";
import { manage } from "./adopt.ts";
import { followPods } from "./follow-pods.ts";
import { forgetRevisions, revisionHash, syncRevisions } from "./revisions.ts";
import { statefulClaims } from "./stateful-claims.ts";
import { isRunningAndReady, planStatefulSet, type StatefulSteps } from "./stateful-plan.ts";
import { ordinalOf, ordinalsOf, podNameOf, repairedPod, statefulPod } from "./stateful-pods.ts";

/** Pods made in one go. */
const burst = 500;

/** The revisions between which a set is. */
interface Update {
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
}

/** Keeps a pod with a stable name and volumes for each ordinal of a StatefulSet (apps/v1). */
export async function startStatefulSetController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const sets = informers.of(StatefulSet);
  const pods = informers.of(Pod);
  const volumeClaims = informers.of(PersistentVolumeClaim);
  const revisions = informers.of(ControllerRevision);
  const recorder = recorderOf(context, "statefulset-controller");
  const claims = statefulClaims(client, volumeClaims, recorder);
  const podResource = client.resource(Pod);
  const revisionOptions = {
    client,
    informer: revisions,
    kind: StatefulSet,
    hashLabel: "controller.kubernetes.io/hash",
  };
  await synced(context, [sets, pods, volumeClaims, revisions]);

  const queues = controllerQueues(context);
  const queue = queues.queue("statefulset", reconcile);
  const setChanged = (set: StatefulSet): void => queue.add(keyOf(set.metadata));
  sets.handle({ add: setChanged, update: setChanged });
  followPods(
    pods,
    StatefulSet,
    sets,
    ({ spec }) => labelSelectorOf(spec.selector),
    (key) => queue.add(key),
  );
  // A pod waits for the claim of its predecessor to go.
  volumeClaims.handle({
    delete({ metadata }) {
      for (const set of sets.byIndex("namespace", metadata.namespace))
        if ((set.spec.volumeClaimTemplates ?? []).length > 0) setChanged(set);
    },
  });

  async function reconcile(key: string): Promise<void> {
    const set = sets.get(refOf(key));
    if (set === undefined) return;
    const selector = labelSelectorOf(set.spec.selector);
    if (selector.empty) return;
    const { namespace } = set.metadata;
    const candidates = pods.byIndex("namespace", namespace);
    const members = candidates.filter((pod) => ordinalOf(set, pod) !== undefined);
    const managed = await manage(client, StatefulSet, set, selector, Pod, members);
    const past = revisions.byIndex("namespace", namespace);
    const history = await manage(client, StatefulSet, set, selector, ControllerRevision, past);
    if (set.metadata.deletionTimestamp !== undefined) return;
    const found = await syncRevisions(revisionOptions, set, history);
    if (found === undefined) {
      const collisionCount = (set.status?.collisionCount ?? 0) + 1;
      await setStatus(set, { replicas: 0, ...set.status, collisionCount });
      return queue.add(key);
    }
    const update = found.current;
    const current =
      found.olds.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    const now = clock.now();
    const steps = planStatefulSet({
      set,
      pods: managed,
      update: update.metadata.name,
      now,
      isStale: (ordinal, pod) => claims.isStale(set, ordinal, pod),
    });
    let failure: unknown;
    try {
      if (await perform(set, steps, { current, update })) return queue.add(key);
    } catch (error) {
      failure = error;
    }
    await setStatus(set, statusOf(set, managed, { current, update }, now));
    if (failure !== undefined) throw failure;
    const live = new Set([
      current.metadata.name,
      update.metadata.name,
      ...managed.map((pod) => pod.metadata.labels?.[revisionHash] ?? ""),
    ]);
    const unused = found.olds.filter(({ metadata }) => !live.has(metadata.name));
    await forgetRevisions(client, unused, unused.length - (set.spec.revisionHistoryLimit ?? 10));
    const next = untilAvailable(managed, set.spec.minReadySeconds ?? 0, now);
    if (next !== undefined) queue.addAfter(key, next);
  }

  async function setStatus(set: StatefulSet, status: StatefulSetStatus): Promise<void> {
    const written = await writeStatus(client, StatefulSet, set, status);
    if (written !== set) await sets.until(() => hasReached(sets, written));
  }

  /** Returns whether anything had to be done. */
  async function perform(set: StatefulSet, steps: StatefulSteps, revisions: Update): Promise<boolean> {
    let changed = false;
    for (const { ordinal, pod } of steps.pending) {
      await claims.create(set, ordinal);
      await claims.retain(set, ordinal, pod);
    }
    for (const { ordinal, pod } of steps.keep) if (await repair(set, ordinal, pod)) changed = true;
    for (const { ordinal, pod } of steps.condemned) await claims.retain(set, ordinal, pod);
    for (const ordinal of steps.create.slice(0, burst))
      if (await createPod(set, ordinal, revisions)) changed = true;
    await Promise.all(steps.remove.map((pod) => deletePod(set, pod)));
    return changed || steps.remove.length > 0;
  }

  /** False in a namespace that is being deleted. */
  async function createPod(set: StatefulSet, ordinal: number, revisions: Update): Promise<boolean> {
    const { name, namespace } = set.metadata;
    const podName = podNameOf(set, ordinal);
    const revision = takesCurrent(set, ordinal) ? revisions.current : revisions.update;
    const { metadata, spec } = statefulPod(set, ordinal, templateOf(revision), revision.metadata.name);
    try {
      await claims.create(set, ordinal);
      const pod = await podResource.create({
        metadata: {
          ...metadata,
          namespace,
          generateName: `${name}-`,
          ownerReferences: [controllerReference(StatefulSet, set)],
        },
        spec: spec!,
      });
      await pods.until(() => hasReached(pods, pod));
      recorder.event(
        set,
        "Normal",
        "SuccessfulCreate",
        `Create Pod ${podName} in StatefulSet ${name} successful`,
      );
      await claims.retain(set, ordinal, pod);
      return true;
    } catch (error) {
      if (isNamespaceTerminating(error)) return false;
      const text = error instanceof Error ? error.message : String(error);
      // Another's pod of this name, or ours that the cache has not seen: no news.
      if (!StatusError.is(error, "AlreadyExists")) {
        const message = `Create Pod ${podName} in StatefulSet ${name} failed error: ${text}`;
        recorder.event(set, "Warning", "FailedCreate", message);
      }
      throw error;
    }
  }

  async function deletePod(set: StatefulSet, pod: Pod): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const ref = { namespace, name };
    const about = `Delete Pod ${name} in StatefulSet ${set.metadata.name}`;
    try {
      await podResource.delete(ref, { preconditions: { uid } });
      recorder.event(set, "Normal", "SuccessfulDelete", `${about} successful`);
    } catch (error) {
      // Gone, or another pod under the same name: what was wanted.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) {
        const text = error instanceof Error ? error.message : String(error);
        recorder.event(set, "Warning", "FailedDelete", `${about} failed error: ${text}`);
        throw error;
      }
    }
    await pods.until(() => {
      const now = pods.get(ref);
      return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
    });
  }

  /** True if the pod had to be changed. */
  async function repair(set: StatefulSet, ordinal: number, pod: Pod): Promise<boolean> {
    await claims.retain(set, ordinal, pod);
    const repaired = repairedPod(set, pod, ordinal);
    if (repaired === undefined) return false;
    const about = `Update Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    try {
      await claims.create(set, ordinal);
      const updated = await podResource.update(repaired);
      await pods.until(() => hasReached(pods, updated));
      recorder.event(set, "Normal", "SuccessfulUpdate", `${about} successful`);
      return true;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      recorder.event(set, "Warning", "FailedUpdate", `${about} failed error: ${text}`);
      throw error;
    }
  }

  return queues.controller;
}

/** Below the partition a pod that is lost comes back as it was. */
function takesCurrent(set: StatefulSet, ordinal: number): boolean {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const { start } = ordinalsOf(set);
  if (rollingUpdate !== undefined) return ordinal < start + (rollingUpdate.partition ?? 0);
  return type === "RollingUpdate" && ordinal < start + (set.status?.currentReplicas ?? 0);
}

function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const { spec } = revision.data as { spec: { template: PodTemplateSpec & { $patch?: string } } };
  const { $patch: _, ...template } = spec.template;
  return template;
}

/** Upstream: pkg/controller/statefulset/stateful_set_control.go, updateStatus and completeUpdate. */
function statusOf(set: StatefulSet, pods: readonly Pod[], revisions: Update, now: number): StatefulSetStatus {
  const [current, update] = [revisions.current.metadata.name, revisions.update.metadata.name];
  const { replicas: wanted = 1, minReadySeconds = 0 } = set.spec;
  const ready = pods.filter(isRunningAndReady);
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const having = (revision: string): number =>
    living.filter(({ metadata }) => metadata.labels?.[revisionHash] === revision).length;
  const updated = having(update);
  const done = updated === wanted && ready.length === wanted && pods.length === wanted;
  const counts = {
    readyReplicas: ready.length,
    currentReplicas: done ? updated : having(current),
    updatedReplicas: updated,
  };
  const { generation } = set.metadata;
  const { conditions, collisionCount = 0 } = set.status ?? {};
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: pods.length,
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    currentRevision: done ? update : current,
    updateRevision: update,
    collisionCount,
    ...(conditions === undefined ? {} : { conditions }),
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
  };
}
