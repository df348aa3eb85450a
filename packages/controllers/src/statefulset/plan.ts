import type { StatefulSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { isPodReady, isPodTerminal } from "@dray/api/pod";
import { revisionHash } from "../history/revisions.ts";
import { scaledValue } from "../shared/int-or-percent.ts";
import { isAvailable } from "../shared/pods.ts";
import { ordinalOf, ordinalsOf } from "./pods.ts";

/** Steps of one sync. */
export interface StatefulSteps {
  readonly remove: readonly Pod[];
  /** Ordinals whose pod is to be made. */
  readonly create: readonly number[];
  /** Pods that wait to run: their claims may have been lost. */
  readonly pending: readonly OrdinalPod[];
  /** Pods whose identity and claims must be as the set says. */
  readonly keep: readonly OrdinalPod[];
  /** Pods beyond the range: only the owners of their claims count. */
  readonly condemned: readonly OrdinalPod[];
}

export interface OrdinalPod {
  readonly ordinal: number;
  readonly pod: Pod;
}

export interface StatefulState {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  /** Name of the revision that pods are to have. */
  readonly update: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The claims of an earlier pod must go before the pod with this ordinal is created. */
  isStale(ordinal: number, pod?: Pod): boolean;
}

const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod);
}

/**
 * Plans the next step of a set. With `OrderedReady` each step waits until all pods before it are available;
 * with `Parallel` everything is done at once. Scaling goes before updating.
 *
 * Upstream: pkg/controller/statefulset/stateful_set_control.go, updateStatefulSet.
 */
export function planStatefulSet(state: StatefulState): StatefulSteps {
  return new Planner(state).plan();
}

class Planner {
  readonly #state: StatefulState;
  readonly #ordered: boolean;
  /** By ordinal, those within the range. */
  readonly #replicas = new Map<number, Pod>();
  /** Beyond the range, highest first. */
  readonly #condemned: OrdinalPod[] = [];
  readonly #remove = new Set<Pod>();
  readonly #create: number[] = [];
  readonly #pending: OrdinalPod[] = [];
  readonly #keep: OrdinalPod[] = [];

  constructor(state: StatefulState) {
    this.#state = state;
    const { set, pods } = state;
    this.#ordered = set.spec.podManagementPolicy !== "Parallel";
    const { start, end } = ordinalsOf(set);
    for (const pod of pods) {
      const ordinal = ordinalOf(set, pod);
      if (ordinal === undefined) continue;
      if (ordinal >= start && ordinal < end) this.#replicas.set(ordinal, pod);
      else this.#condemned.push({ ordinal, pod });
    }
    this.#condemned.sort((a, b) => b.ordinal - a.ordinal);
  }

  plan(): StatefulSteps {
    const settled = this.#fill();
    const condemned = settled ? this.#condemned : [];
    if (settled && this.#shrink() && this.#state.set.spec.updateStrategy?.type === "RollingUpdate")
      this.#update();
    return {
      remove: [...this.#remove],
      create: this.#create,
      pending: this.#pending,
      keep: this.#keep,
      condemned,
    };
  }

  #isAvailable(pod: Pod | undefined): boolean {
    if (pod === undefined || isTerminating(pod)) return false;
    return isAvailable(pod, this.#state.set.spec.minReadySeconds ?? 0, this.#state.now);
  }

  /** Every ordinal gets its pod. False: the steps after it must wait. */
  #fill(): boolean {
    const { start, end } = ordinalsOf(this.#state.set);
    for (let ordinal = start; ordinal < end; ordinal++)
      if (!this.#fillOne(ordinal) && this.#ordered) return false;
    return true;
  }

  /** False if the pod with this ordinal does not serve yet. */
  #fillOne(ordinal: number): boolean {
    const pod = this.#replicas.get(ordinal);
    if (pod === undefined) {
      if (!this.#state.isStale(ordinal)) this.#create.push(ordinal);
      return false;
    }
    if (isPodTerminal(pod)) {
      // Its successor comes when it is gone.
      if (!isTerminating(pod)) this.#remove.add(pod);
      return false;
    }
    if (pod.status?.phase === "Pending" && !isTerminating(pod)) this.#pending.push({ ordinal, pod });
    const serves = isRunningAndReady(pod) && this.#isAvailable(pod);
    if (serves || !this.#ordered) this.#keep.push({ ordinal, pod });
    return serves;
  }

  /** Pods beyond the range go, highest ordinal first. False: the update must wait. */
  #shrink(): boolean {
    if (!this.#ordered) {
      for (const { pod } of this.#condemned) if (!isTerminating(pod)) this.#remove.add(pod);
      return true;
    }
    const highest = this.#condemned[0]?.pod;
    if (highest === undefined) return true;
    // All replicas are available here: the first pod in trouble is the lowest of those beyond the range.
    const firstUnavailable = this.#condemned.findLast(({ pod }) => !this.#isAvailable(pod))?.pod;
    const waits = isTerminating(highest) || (!this.#isAvailable(highest) && highest !== firstUnavailable);
    if (!waits) this.#remove.add(highest);
    return false;
  }

  /** Pods of other revisions are replaced, highest ordinal first, down to the partition. */
  #update(): void {
    const { set, update } = this.#state;
    const { partition = 0, maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
    const { start, end } = ordinalsOf(set);
    const ordinals = Array.from({ length: end - start }, (_, index) => end - 1 - index);
    const unavailable = ordinals.filter((ordinal) => !this.#isAvailable(this.#replicas.get(ordinal)));
    const budget = Math.max(1, scaledValue(maxUnavailable, end - start, "down")) - unavailable.length;
    const outdated = ordinals.flatMap((ordinal) => {
      const pod = this.#replicas.get(ordinal);
      // The partition counts from the first ordinal of the set.
      if (pod === undefined || ordinal - start < partition || isTerminating(pod)) return [];
      return pod.metadata.labels?.[revisionHash] === update ? [] : [pod];
    });
    // Unavailable pods are replaced whatever the limit; ordered sets have none here.
    const broken = outdated.filter((pod) => !this.#isAvailable(pod));
    const serving = outdated.filter((pod) => this.#isAvailable(pod));
    for (const pod of [...broken, ...serving.slice(0, Math.max(0, budget))]) this.#remove.add(pod);
  }
}
