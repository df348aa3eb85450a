import { labelSelectorOf } from "@dray/api";
import { ControllerRevision, DaemonSet, type DaemonSetStatus } from "@dray/api/apps/v1";
import { type Node, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import {
  type EventRecorder,
  hasReached,
  type Informer,
  ItemBackOff,
  refOf,
  type WorkQueue,
} from "@dray/client";
import { forgetRevisions, type Revisions, revisionHash, syncRevisions } from "../history/revisions.ts";
import type { ControllerContext } from "../shared/context.ts";
import { claimObjects } from "../shared/controller-ref-manager.ts";
import { type PodControl, podControl } from "../shared/pod-control.ts";
import { writeStatus } from "../shared/status.ts";
import { templateFor } from "./nodes.ts";
import { DaemonPlan } from "./plan.ts";

/** Pods made or deleted in one go. */
const burst = 250;
/** A daemon that fails is replaced after a second, then two, up to a quarter of an hour. */
const firstDelay = 1_000;
const maxDelay = 15 * 60_000;

export interface DaemonCaches {
  readonly sets: Informer<DaemonSet>;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly revisions: Informer<ControllerRevision>;
}

const emptyStatus: DaemonSetStatus = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

/** Brings the pods of one DaemonSet to what its nodes and template say. */
export class DaemonSetSync {
  readonly #context: ControllerContext;
  readonly #caches: DaemonCaches;
  readonly #recorder: EventRecorder;
  readonly #control: PodControl<DaemonSet>;
  readonly #queue: () => WorkQueue;
  /** By set and node: how long the successor of a failed pod must wait. */
  readonly #failures: ItemBackOff;

  constructor(
    context: ControllerContext,
    caches: DaemonCaches,
    recorder: EventRecorder,
    queue: () => WorkQueue,
  ) {
    this.#context = context;
    this.#caches = caches;
    this.#recorder = recorder;
    this.#control = podControl(context.client, DaemonSet, caches.pods, recorder);
    this.#queue = queue;
    this.#failures = new ItemBackOff(context.clock, firstDelay, maxDelay);
  }

  forget({ metadata }: DaemonSet): void {
    this.#failures.forgetAll(`${metadata.uid}/`);
  }

  async reconcile(key: string): Promise<void> {
    const { client, clock } = this.#context;
    const { sets, pods, nodes } = this.#caches;
    const set = sets.get(refOf(key));
    if (set === undefined) return;
    const selector = labelSelectorOf(set.spec.selector);
    if (selector.empty) return;
    const candidates = pods.byIndex("namespace", set.metadata.namespace);
    const managed = await claimObjects(client, { kind: DaemonSet, owner: set, selector }, Pod, candidates);
    if (set.metadata.deletionTimestamp !== undefined) return;
    const revisions = await this.#revisions(set);
    if (revisions === undefined) {
      const collisionCount = (set.status?.collisionCount ?? 0) + 1;
      await this.#setStatus(set, { ...(set.status ?? emptyStatus), collisionCount });
      return this.#queue().add(key);
    }
    const { current, olds } = revisions;
    const hash = current.metadata.labels?.[revisionHash] ?? "";
    const plan = new DaemonPlan(set, hash, { nodes: nodes.list(), pods: managed }, clock.now());
    let failure: unknown;
    try {
      if (await this.#place(key, plan)) return this.#queue().add(key);
      if (set.spec.updateStrategy?.type !== "OnDelete" && (await this.#roll(plan)))
        return this.#queue().add(key);
      const used = new Set(managed.map((pod) => pod.metadata.labels?.[revisionHash] ?? ""));
      const unused = olds.filter(({ metadata }) => !used.has(metadata.labels?.[revisionHash] ?? ""));
      await forgetRevisions(client, unused, olds.length - (set.spec.revisionHistoryLimit ?? 10));
    } catch (error) {
      failure = error;
    }
    await this.#setStatus(set, plan.status());
    if (failure !== undefined) throw failure;
    const next = plan.nextAvailable();
    if (next !== undefined) this.#queue().addAfter(key, next);
  }

  /** The revisions of the template; undefined if another template has the hash. */
  async #revisions(set: DaemonSet): Promise<Revisions | undefined> {
    const { client } = this.#context;
    const { revisions } = this.#caches;
    const past = revisions.byIndex("namespace", set.metadata.namespace);
    const selector = labelSelectorOf(set.spec.selector);
    const history = await claimObjects(
      client,
      { kind: DaemonSet, owner: set, selector },
      ControllerRevision,
      past,
    );
    return syncRevisions(
      { client, informer: revisions, kind: DaemonSet, hashLabel: revisionHash },
      set,
      history,
    );
  }

  async #setStatus(set: DaemonSet, status: DaemonSetStatus): Promise<void> {
    const { sets } = this.#caches;
    const written = await writeStatus(this.#context.client, DaemonSet, set, status);
    if (written !== set) await sets.until(() => hasReached(sets, written));
  }

  /** One pod on every node that should have one, none elsewhere. Returns whether anything had to be done. */
  async #place(key: string, plan: DaemonPlan): Promise<boolean> {
    const { set } = plan;
    const needed: string[] = [];
    const podsToDelete: Pod[] = [];
    for (const [node, { verdict, pods: there }] of plan.nodes) {
      if (verdict.run && there.length === 0) {
        const wait = this.#failures.left(`${set.metadata.uid}/${node}`);
        if (wait > 0) this.#queue().addAfter(key, wait);
        else needed.push(node);
      } else if (!verdict.keep) {
        for (const each of there.filter((pod) => pod.metadata.deletionTimestamp === undefined))
          podsToDelete.push(each);
      } else {
        const activePods: Pod[] = [];
        for (const pod of there) {
          if (pod.metadata.deletionTimestamp !== undefined) continue;
          if (!isPodTerminal(pod)) activePods.push(pod);
          else {
            podsToDelete.push(pod);
            this.#finished(set, node, pod);
          }
        }
        for (const each of plan.superfluous(activePods)) podsToDelete.push(each);
      }
    }
    const templates = needed.slice(0, burst).map((node) => templateFor(set, node, plan.hash));
    const before = this.#caches.pods.byIndex("controller", set.metadata.uid).length;
    await this.#control.delete(set, podsToDelete.slice(0, burst));
    await this.#control.create(set, templates);
    if (podsToDelete.length > 0) return true;
    // In a namespace that is being deleted nothing came of it.
    return templates.length > 0 && this.#caches.pods.byIndex("controller", set.metadata.uid).length > before;
  }

  #finished(set: DaemonSet, node: string, pod: Pod): void {
    const failed = pod.status?.phase === "Failed";
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const message = `Found ${failed ? "failed" : "succeeded"} daemon pod ${name} on node ${node}, will try to ${failed ? "kill" : "delete"} it`;
    this.#recorder.event(
      set,
      failed ? "Warning" : "Normal",
      failed ? "FailedDaemonPod" : "SucceededDaemonPod",
      message,
    );
    if (failed) this.#failures.next(`${set.metadata.uid}/${node}`);
  }

  /** Replaces pods of older templates as far as the strategy allows. */
  async #roll(plan: DaemonPlan): Promise<boolean> {
    const { set, hash } = plan;
    const { replace, addBeside } = plan.rollout();
    await this.#control.delete(set, replace);
    await this.#control.create(
      set,
      addBeside.map((node) => templateFor(set, node, hash)),
    );
    return replace.length + addBeside.length > 0;
  }
}
