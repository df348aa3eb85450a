import type { DaemonSet, DaemonSetStatus } from "@dray/api/apps/v1";
import type { Node, Pod } from "@dray/api/core/v1";
import { isPodReady } from "@dray/api/pod";
import { revisionHash } from "../history/revisions.ts";
import { scaledValue } from "../shared/int-or-percent.ts";
import { isAvailable, untilAvailable } from "../shared/pods.ts";
import { nonZeroCounts } from "../shared/status.ts";
import { type DaemonNodeDecision, shouldRunDaemonPod, targetNode } from "./nodes.ts";

interface NodePods {
  readonly verdict: DaemonNodeDecision;
  readonly pods: Pod[];
}

/** Actual and desired pods of a DaemonSet on each node. */
export class DaemonPlan {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly nodes = new Map<string, NodePods>();
  readonly #now: number;
  readonly #minReady: number;

  constructor(
    set: DaemonSet,
    hash: string,
    { nodes, pods }: { readonly nodes: readonly Node[]; readonly pods: readonly Pod[] },
    now: number,
  ) {
    this.set = set;
    this.hash = hash;
    this.#now = now;
    this.#minReady = set.spec.minReadySeconds ?? 0;
    for (const node of nodes)
      this.nodes.set(node.metadata.name, { verdict: shouldRunDaemonPod(set, node), pods: [] });
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
    return type === "OnDelete" ? 0 : scaledValue(rollingUpdate?.maxSurge, this.#desired, "up");
  }

  get #maxUnavailable(): number {
    const value = this.set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
    const count = scaledValue(value, this.#desired, "up");
    return count === 0 && this.#maxSurge === 0 ? 1 : count;
  }

  /**
   * Returns all but the oldest active pod of a node; with surge, an old one stays until its successor is
   * there.
   */
  superfluous(activePods: readonly Pod[]): Pod[] {
    const byAge = (list: readonly Pod[]): Pod[] =>
      [...list].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
    if (this.#maxSurge === 0) return byAge(activePods).slice(1);
    const [news, olds] = [
      activePods.filter((pod) => this.#isNew(pod)),
      activePods.filter((pod) => !this.#isNew(pod)),
    ];
    const available = news.some((pod) => this.#isAvailable(pod));
    return [...byAge(news).slice(1), ...byAge(olds).slice(available ? 0 : 1)];
  }

  /** Returns which pods of older templates to delete now, and beside which to make new ones. */
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
      const activePods = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
      const fresh = activePods.find((pod) => this.#isNew(pod));
      const old = activePods.find((pod) => !this.#isNew(pod));
      if (this.#maxSurge > 0) {
        if (fresh !== undefined) surging += this.#isAvailable(fresh) ? 0 : 1;
        else if (old !== undefined && verdict.run) {
          if (this.#isAvailable(old)) surgeable.push(node);
          else addBeside.push(node);
        }
        continue;
      }
      if (old !== undefined && !this.#isAvailable(old)) {
        // It is unavailable already: replaced at once, whatever the limit.
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
      ...nonZeroCounts({
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
