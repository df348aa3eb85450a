import { labelSelectorOf } from "@dray/api";
import { ControllerRevision, StatefulSet } from "@dray/api/apps/v1";
import { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { type Informer, keyOf, refOf, type WorkQueue } from "@dray/client";
import { forgetRevisions, type Revisions, revisionHash, syncRevisions } from "../history/revisions.ts";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { claimObjects } from "../shared/controller-ref-manager.ts";
import { followPods } from "../shared/follow-pods.ts";
import { untilAvailable } from "../shared/pods.ts";
import { type StatefulClaims, statefulClaims } from "./claims.ts";
import { planStatefulSet } from "./plan.ts";
import { ordinalOf } from "./pods.ts";
import { type StatefulUpdate, statefulStatus } from "./status.ts";
import { StatefulWrites } from "./writes.ts";

/** Keeps a pod with a stable name and volumes for each ordinal of a StatefulSet (apps/v1). */
export async function startStatefulSetController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const sets = informers.of(StatefulSet);
  const pods = informers.of(Pod);
  const volumeClaims = informers.of(PersistentVolumeClaim);
  const revisions = informers.of(ControllerRevision);
  await synced(context, [sets, pods, volumeClaims, revisions]);

  const recorder = recorderOf(context, "statefulset-controller");
  const claims = statefulClaims(client, volumeClaims, recorder);
  const writes = new StatefulWrites(client, { sets, pods, claims, recorder });
  const queues = controllerQueues(context);
  const sync = new StatefulSetSync(context, { sets, pods, revisions, claims, writes }, () => queue);
  const queue = queues.queue("statefulset", (key) => sync.reconcile(key));
  const setChanged = (set: StatefulSet): void => queue.add(keyOf(set.metadata));
  sets.handle({ add: setChanged, update: setChanged });
  followPods(
    pods,
    { kind: StatefulSet, owners: sets, selectorOf: ({ spec }) => labelSelectorOf(spec.selector) },
    (key) => queue.add(key),
  );
  // A pod waits for the claim of its predecessor to go.
  volumeClaims.handle({
    delete({ metadata }) {
      for (const set of sets.byIndex("namespace", metadata.namespace))
        if ((set.spec.volumeClaimTemplates ?? []).length > 0) setChanged(set);
    },
  });
  return queues.controller;
}

interface Parts {
  readonly sets: Informer<StatefulSet>;
  readonly pods: Informer<Pod>;
  readonly revisions: Informer<ControllerRevision>;
  readonly claims: StatefulClaims;
  readonly writes: StatefulWrites;
}

/** Brings the pods of one StatefulSet to what it says. */
class StatefulSetSync {
  readonly #context: ControllerContext;
  readonly #parts: Parts;
  readonly #queue: () => WorkQueue;

  constructor(context: ControllerContext, parts: Parts, queue: () => WorkQueue) {
    this.#context = context;
    this.#parts = parts;
    this.#queue = queue;
  }

  async reconcile(key: string): Promise<void> {
    const { sets, writes } = this.#parts;
    const set = sets.get(refOf(key));
    if (set === undefined || labelSelectorOf(set.spec.selector).empty) return;
    const managed = await this.#members(set);
    const history = await this.#history(set);
    if (set.metadata.deletionTimestamp !== undefined) return;
    const revisions = await this.#sync(set, history);
    if (revisions === undefined) {
      const collisionCount = (set.status?.collisionCount ?? 0) + 1;
      await writes.setStatus(set, { replicas: 0, ...set.status, collisionCount });
      return this.#queue().add(key);
    }
    const { current: update, olds } = revisions;
    const current = olds.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    if (await this.#advance(set, managed, { current, update })) return this.#queue().add(key);
    await this.#forgetOld(set, managed, { current, update }, olds);
    const next = untilAvailable(managed, set.spec.minReadySeconds ?? 0, this.#context.clock.now());
    if (next !== undefined) this.#queue().addAfter(key, next);
  }

  #members(set: StatefulSet): Promise<Pod[]> {
    const candidates = this.#parts.pods.byIndex("namespace", set.metadata.namespace);
    const members = candidates.filter((pod) => ordinalOf(set, pod) !== undefined);
    const selector = labelSelectorOf(set.spec.selector);
    return claimObjects(this.#context.client, { kind: StatefulSet, owner: set, selector }, Pod, members);
  }

  #history(set: StatefulSet): Promise<ControllerRevision[]> {
    const past = this.#parts.revisions.byIndex("namespace", set.metadata.namespace);
    const selector = labelSelectorOf(set.spec.selector);
    return claimObjects(
      this.#context.client,
      { kind: StatefulSet, owner: set, selector },
      ControllerRevision,
      past,
    );
  }

  #sync(set: StatefulSet, history: readonly ControllerRevision[]): Promise<Revisions | undefined> {
    const { client } = this.#context;
    const hashLabel = "controller.kubernetes.io/hash";
    return syncRevisions(
      { client, informer: this.#parts.revisions, kind: StatefulSet, hashLabel },
      set,
      history,
    );
  }

  /** Returns whether anything had to be done; if not, the status says how things are. */
  async #advance(set: StatefulSet, managed: readonly Pod[], revisions: StatefulUpdate): Promise<boolean> {
    const { claims, writes } = this.#parts;
    const now = this.#context.clock.now();
    const steps = planStatefulSet({
      set,
      pods: managed,
      update: revisions.update.metadata.name,
      now,
      isStale: (ordinal, pod) => claims.isStale(set, ordinal, pod),
    });
    let failure: unknown;
    try {
      if (await writes.perform(set, steps, revisions)) return true;
    } catch (error) {
      failure = error;
    }
    await writes.setStatus(set, statefulStatus(set, managed, revisions, now));
    if (failure !== undefined) throw failure;
    return false;
  }

  async #forgetOld(
    set: StatefulSet,
    managed: readonly Pod[],
    { current, update }: StatefulUpdate,
    olds: readonly ControllerRevision[],
  ): Promise<void> {
    const live = new Set([
      current.metadata.name,
      update.metadata.name,
      ...managed.map((pod) => pod.metadata.labels?.[revisionHash] ?? ""),
    ]);
    const unused = olds.filter(({ metadata }) => !live.has(metadata.name));
    const kept = set.spec.revisionHistoryLimit ?? 10;
    await forgetRevisions(this.#context.client, unused, unused.length - kept);
  }
}
