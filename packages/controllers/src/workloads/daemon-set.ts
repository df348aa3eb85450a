import { labelSelectorOf } from "@dray/api";
import { ControllerRevision, DaemonSet, type DaemonSetStatus } from "@dray/api/apps/v1";
import { Node, Pod } from "@dray/api/core/v1";
import { isPodReady, isPodTerminal } from "@dray/api/pod";
import { hasReached, ItemBackOff, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { isAvailable, untilAvailable } from "../pods.ts";
import { writeStatus } from "../status.ts";
import { manage } from "./adopt.ts";
import { judgeNode, type NodeVerdict, targetNode, templateFor } from "./daemon-nodes.ts";
import { followPods } from "./follow-pods.ts";
import { ofTotal } from "./int-or-percent.ts";
import { podControl } from "./pod-control.ts";
import { positive } from "./replica-set.ts";
import { forgetRevisions, revisionHash, syncRevisions } from "./revisions.ts";

/** Pods made or deleted in one go. */
const burst = 250;
/** A daemon that fails is replaced after a second, then two, up to a quarter of an hour. */
const firstDelay = 1_000;
const longestDelay = 15 * 60_000;

/** Keeps one pod of each DaemonSet on every node that fits, and rolls out changed templates (apps/v1). */
export async function startDaemonSetController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const sets = informers.of(DaemonSet);
  const pods = informers.of(Pod);
  const nodes = informers.of(Node);
  const revisions = informers.of(ControllerRevision);
  const revisionOptions = { client, informer: revisions, kind: DaemonSet, hashLabel: revisionHash };
  const recorder = recorderOf(context, "daemonset-controller");
  const control = podControl(client, DaemonSet, pods, recorder);
  /** By set and node: how long the successor of a failed pod must wait. */
  const failures = new ItemBackOff(clock, firstDelay, longestDelay);
  await synced(context, [sets, pods, nodes, revisions]);

  const queues = controllerQueues(context);
  const queue = queues.queue("daemonset", reconcile);
  const setChanged = (set: DaemonSet): void => queue.add(keyOf(set.metadata));
  sets.handle({
    add: setChanged,
    update: setChanged,
    delete(set) {
      failures.forgetAll(`${set.metadata.uid}/`);
    },
  });

  followPods(
    pods,
    DaemonSet,
    sets,
    ({ spec }) => labelSelectorOf(spec.selector),
    (key) => queue.add(key),
  );

  nodes.handle({
    add(node) {
      for (const set of sets.list()) if (judgeNode(set, node).run) setChanged(set);
    },
    // A node's heartbeat changes nothing for most sets.
    update(node, old) {
      for (const set of sets.list()) {
        const [now, before] = [judgeNode(set, node), judgeNode(set, old)];
        if (now.run !== before.run || now.keep !== before.keep) setChanged(set);
      }
    },
    delete(node) {
      for (const set of sets.list()) if (judgeNode(set, node).keep) setChanged(set);
    },
  });

  async function reconcile(key: string): Promise<void> {
    const set = sets.get(refOf(key));
    if (set === undefined) return;
    const selector = labelSelectorOf(set.spec.selector);
    if (selector.empty) return;
    const candidates = pods.byIndex("namespace", set.metadata.namespace);
    const managed = await manage(client, DaemonSet, set, selector, Pod, candidates);
    if (set.metadata.deletionTimestamp !== undefined) return;
    const history = await manage(
      client,
      DaemonSet,
      set,
      selector,
      ControllerRevision,
      revisions.byIndex("namespace", set.metadata.namespace),
    );
    const synced = await syncRevisions(revisionOptions, set, history);
    if (synced === undefined) {
      const collisionCount = (set.status?.collisionCount ?? 0) + 1;
      const written = await writeStatus(client, DaemonSet, set, {
        ...(set.status ?? emptyStatus),
        collisionCount,
      });
      await sets.until(() => hasReached(sets, written));
      return queue.add(key);
    }
    const hash = synced.current.metadata.labels?.[revisionHash] ?? "";
    const plan = new Plan(set, hash, nodes.list(), managed, clock.now());

    let failure: unknown;
    try {
      if (await place(key, plan)) return queue.add(key);
      if (set.spec.updateStrategy?.type !== "OnDelete" && (await roll(plan))) return queue.add(key);
      const used = new Set(managed.map((pod) => pod.metadata.labels?.[revisionHash] ?? ""));
      const unused = synced.olds.filter(({ metadata }) => !used.has(metadata.labels?.[revisionHash] ?? ""));
      await forgetRevisions(client, unused, synced.olds.length - (set.spec.revisionHistoryLimit ?? 10));
    } catch (error) {
      failure = error;
    }
    const written = await writeStatus(client, DaemonSet, set, plan.status());
    if (written !== set) await sets.until(() => hasReached(sets, written));
    if (failure !== undefined) throw failure;
    const next = plan.nextAvailable();
    if (next !== undefined) queue.addAfter(key, next);
  }

  /** One pod on every node that should have one, none elsewhere. Returns whether anything had to be done. */
  async function place(key: string, plan: Plan): Promise<boolean> {
    const { set } = plan;
    const needed: string[] = [];
    const doomed: Pod[] = [];
    for (const [node, { verdict, pods: there }] of plan.nodes) {
      if (verdict.run && there.length === 0) {
        const wait = failures.left(`${set.metadata.uid}/${node}`);
        if (wait > 0) queue.addAfter(key, wait);
        else needed.push(node);
      } else if (!verdict.keep) {
        for (const each of there.filter((pod) => pod.metadata.deletionTimestamp === undefined))
          doomed.push(each);
      } else {
        const living: Pod[] = [];
        for (const pod of there) {
          if (pod.metadata.deletionTimestamp !== undefined) continue;
          if (!isPodTerminal(pod)) living.push(pod);
          else {
            doomed.push(pod);
            finished(set, node, pod);
          }
        }
        for (const each of plan.superfluous(living)) doomed.push(each);
      }
    }
    const templates = needed.slice(0, burst).map((node) => templateFor(set, node, plan.hash));
    const before = pods.byIndex("controller", set.metadata.uid).length;
    await control.delete(set, doomed.slice(0, burst));
    await control.create(set, templates);
    if (doomed.length > 0) return true;
    // In a namespace that is being deleted nothing came of it.
    return templates.length > 0 && pods.byIndex("controller", set.metadata.uid).length > before;
  }

  function finished(set: DaemonSet, node: string, pod: Pod): void {
    const failed = pod.status?.phase === "Failed";
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const message = `Found ${failed ? "failed" : "succeeded"} daemon pod ${name} on node ${node}, will try to ${failed ? "kill" : "delete"} it`;
    recorder.event(
      set,
      failed ? "Warning" : "Normal",
      failed ? "FailedDaemonPod" : "SucceededDaemonPod",
      message,
    );
    if (failed) failures.next(`${set.metadata.uid}/${node}`);
  }

  /** Replaces pods of older templates as far as the strategy allows. */
  async function roll(plan: Plan): Promise<boolean> {
    const { set, hash } = plan;
    const { replace, addBeside } = plan.rollout();
    await control.delete(set, replace);
    await control.create(
      set,
      addBeside.map((node) => templateFor(set, node, hash)),
    );
    return replace.length + addBeside.length > 0;
  }

  return queues.controller;
}

const emptyStatus: DaemonSetStatus = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

interface NodePods {
  readonly verdict: NodeVerdict;
  readonly pods: Pod[];
}

/** What there is and should be on each node at one moment. */
class Plan {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly nodes = new Map<string, NodePods>();
  readonly #now: number;
  readonly #minReady: number;

  constructor(set: DaemonSet, hash: string, nodes: readonly Node[], pods: readonly Pod[], now: number) {
    this.set = set;
    this.hash = hash;
    this.#now = now;
    this.#minReady = set.spec.minReadySeconds ?? 0;
    for (const node of nodes) this.nodes.set(node.metadata.name, { verdict: judgeNode(set, node), pods: [] });
    for (const pod of pods) {
      const name = targetNode(pod);
      if (name === undefined) continue;
      const there = this.nodes.get(name);
      if (there !== undefined) there.pods.push(pod);
      // Its node is gone: so must it be.
      else if (!pod.spec.nodeName)
        this.nodes.set(name, { verdict: { run: false, keep: false }, pods: [pod] });
    }
  }

  #isNew(pod: Pod): boolean {
    return pod.metadata.labels?.[revisionHash] === this.hash;
  }

  #isAvailable(pod: Pod): boolean {
    return isAvailable(pod, this.#minReady, this.#now);
  }

  get #desired(): number {
    return [...this.nodes.values()].filter(({ verdict }) => verdict.run).length;
  }

  get #maxSurge(): number {
    const { type, rollingUpdate } = this.set.spec.updateStrategy ?? {};
    return type === "OnDelete" ? 0 : ofTotal(rollingUpdate?.maxSurge, this.#desired, "up");
  }

  get #maxUnavailable(): number {
    const value = this.set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
    const count = ofTotal(value, this.#desired, "up");
    return count === 0 && this.#maxSurge === 0 ? 1 : count;
  }

  /** Of several living pods on a node all but the oldest; with surge, an old one stays until its successor is there. */
  superfluous(living: readonly Pod[]): Pod[] {
    const byAge = (list: readonly Pod[]): Pod[] =>
      [...list].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
    if (this.#maxSurge === 0) return byAge(living).slice(1);
    const [news, olds] = [
      living.filter((pod) => this.#isNew(pod)),
      living.filter((pod) => !this.#isNew(pod)),
    ];
    const available = news.some((pod) => this.#isAvailable(pod));
    return [...byAge(news).slice(1), ...byAge(olds).slice(available ? 0 : 1)];
  }

  /** Which pods of older templates to delete now, and beside which to make new ones. */
  rollout(): { replace: Pod[]; addBeside: string[] } {
    const replace: Pod[] = [];
    const addBeside: string[] = [];
    const ready: Pod[] = [];
    const surgeable: string[] = [];
    let unavailable = 0;
    let surging = 0;
    for (const [node, { verdict, pods }] of this.nodes) {
      if (!verdict.keep && pods.length === 0) continue;
      const going = pods.some((pod) => pod.metadata.deletionTimestamp !== undefined);
      const living = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
      const fresh = living.find((pod) => this.#isNew(pod));
      const old = living.find((pod) => !this.#isNew(pod));
      if (this.#maxSurge > 0) {
        if (fresh !== undefined) surging += this.#isAvailable(fresh) ? 0 : 1;
        else if (old !== undefined && verdict.run) {
          if (this.#isAvailable(old)) surgeable.push(node);
          else addBeside.push(node);
        }
        continue;
      }
      if (old !== undefined && !this.#isAvailable(old)) {
        // It serves nobody: replaced at once, whatever the limit.
        replace.push(old);
        unavailable++;
      } else if (old !== undefined) ready.push(old);
      else if (verdict.run && (fresh === undefined || going || !this.#isAvailable(fresh))) unavailable++;
    }
    if (this.#maxSurge > 0) {
      for (const each of surgeable.slice(0, Math.max(0, this.#maxSurge - surging - addBeside.length)))
        addBeside.push(each);
      return { replace, addBeside };
    }
    for (const each of ready.slice(0, Math.max(0, this.#maxUnavailable - unavailable))) replace.push(each);
    return { replace, addBeside };
  }

  status(): DaemonSetStatus {
    let current = 0;
    let misscheduled = 0;
    let ready = 0;
    let updated = 0;
    let available = 0;
    for (const { verdict, pods } of this.nodes.values()) {
      if (!verdict.run) {
        if (pods.length > 0) misscheduled++;
        continue;
      }
      if (pods.length === 0) continue;
      current++;
      // While two overlap, the newer is the one that counts.
      const pod = pods.reduce((a, b) =>
        a.metadata.creationTimestamp >= b.metadata.creationTimestamp ? a : b,
      );
      const counted = pods.find((candidate) => isPodReady(candidate)) ?? pod;
      if (isPodReady(counted)) ready++;
      if (this.#isAvailable(counted)) available++;
      if (pods.some((candidate) => this.#isNew(candidate))) updated++;
    }
    const desired = this.#desired;
    const { generation } = this.set.metadata;
    const { conditions, collisionCount } = this.set.status ?? {};
    return {
      currentNumberScheduled: current,
      numberMisscheduled: misscheduled,
      desiredNumberScheduled: desired,
      numberReady: ready,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...positive({
        updatedNumberScheduled: updated,
        numberAvailable: available,
        numberUnavailable: desired - available,
      }),
      ...(collisionCount === undefined ? {} : { collisionCount }),
      ...(conditions === undefined ? {} : { conditions }),
    };
  }

  /** Milliseconds until a pod that is ready counts as available. */
  nextAvailable(): number | undefined {
    const pods = [...this.nodes.values()].flatMap((node) => node.pods);
    return untilAvailable(pods, this.#minReady, this.#now);
  }
}
