import type { Pod } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import type { ClusterEvent, Plugin } from "./framework.ts";

/** Milliseconds a pod waits after its first failed attempt; doubled with each, up to the longest. */
const firstBackOff = 1_000;
const longestBackOff = 10_000;

type Place =
  /** Ready to be tried. */
  | "active"
  /** To be tried when its time has come. */
  | "backoff"
  /** Rejected; waits for an event that a plugin finds helpful. */
  | "unschedulable"
  /** Turned away by PreEnqueue. */
  | "gated"
  /** Being scheduled or bound. */
  | "in-flight";

export interface QueuedPod {
  pod: Pod;
  place: Place;
  attempts: number;
  /** When it came or was tried last: earlier ones of the same priority go first. */
  since: number;
  /** Names of the plugins that rejected it last; empty after an error. */
  rejectedBy: readonly string[];
  /** Events that came while it was in flight. */
  missed: ClusterEvent[];
  backOffUntil: number;
  cancelBackOff?: () => void;
}

/** Pods that wait for a node: highest priority first, then the one that waits longest. Nothing polls. */
export class SchedulingQueue {
  readonly #plugins: readonly Plugin[];
  readonly #byName: ReadonlyMap<string, Plugin>;
  readonly #clock: Clock;
  readonly #ready: () => void;
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active = new Set<QueuedPod>();

  /** `ready` is called whenever a pod becomes active. */
  constructor(plugins: readonly Plugin[], clock: Clock, ready: () => void) {
    this.#plugins = plugins;
    this.#byName = new Map(plugins.map((plugin) => [plugin.name, plugin]));
    this.#clock = clock;
    this.#ready = ready;
  }

  /** How many pods are in each place. */
  counts(): Record<Place, number> {
    const counts = { active: 0, backoff: 0, unschedulable: 0, gated: 0, "in-flight": 0 };
    for (const entry of this.#pods.values()) counts[entry.place]++;
    return counts;
  }

  /** A pod that wants a node, new or changed. */
  set(pod: Pod, schedulingChanged: boolean): void {
    const entry = this.#pods.get(pod.metadata.uid);
    if (entry === undefined) {
      const added: QueuedPod = {
        pod,
        place: "gated",
        attempts: 0,
        since: this.#clock.now(),
        rejectedBy: [],
        missed: [],
        backOffUntil: 0,
      };
      this.#pods.set(pod.metadata.uid, added);
      this.#activate(added);
      return;
    }
    entry.pod = pod;
    if (entry.place === "gated") this.#activate(entry);
    else if (schedulingChanged) this.#notify(entry, { kind: "own-pod", uid: pod.metadata.uid });
  }

  delete(uid: string): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    entry.cancelBackOff?.();
    this.#active.delete(entry);
    this.#pods.delete(uid);
  }

  /** Takes the next pod to try. */
  pop(): QueuedPod | undefined {
    let best: QueuedPod | undefined;
    for (const entry of this.#active) if (best === undefined || before(entry, best)) best = entry;
    if (best === undefined) return undefined;
    this.#active.delete(best);
    best.place = "in-flight";
    best.missed = [];
    best.attempts++;
    return best;
  }

  /** Whether the pod wants a node still. */
  has(entry: QueuedPod): boolean {
    return this.#pods.get(entry.pod.metadata.uid) === entry;
  }

  /**
   * The attempt failed: by these plugins, or (none) by an error, which is tried again after a while. False: the pod
   * does not wait any more.
   */
  failed(entry: QueuedPod, rejectedBy: readonly string[]): boolean {
    if (!this.has(entry)) return false;
    entry.rejectedBy = rejectedBy;
    entry.since = this.#clock.now();
    const wait = Math.min(firstBackOff * 2 ** (entry.attempts - 1), longestBackOff);
    entry.backOffUntil = this.#clock.now() + wait;
    const helped = entry.missed.some((event) => this.#helps(entry, event));
    if (rejectedBy.length === 0 || helped) this.#backOff(entry);
    else entry.place = "unschedulable";
    entry.missed = [];
    return true;
  }

  /** Wakes the pods that the event may help. */
  notify(event: ClusterEvent): void {
    for (const entry of this.#pods.values()) {
      if (entry.place === "gated") this.#activate(entry);
      else this.#notify(entry, event);
    }
  }

  close(): void {
    for (const uid of [...this.#pods.keys()]) this.delete(uid);
  }

  #notify(entry: QueuedPod, event: ClusterEvent): void {
    if (entry.place === "in-flight") entry.missed.push(event);
    if (entry.place !== "unschedulable" || !this.#helps(entry, event)) return;
    this.#backOff(entry);
  }

  #helps(entry: QueuedPod, event: ClusterEvent): boolean {
    return entry.rejectedBy.some((name) => this.#byName.get(name)?.mayHelp(entry.pod, event) ?? true);
  }

  #backOff(entry: QueuedPod): void {
    const wait = entry.backOffUntil - this.#clock.now();
    if (wait <= 0) {
      this.#activate(entry);
      return;
    }
    entry.place = "backoff";
    entry.cancelBackOff?.();
    entry.cancelBackOff = this.#clock.after(wait, () => this.#activate(entry));
  }

  #activate(entry: QueuedPod): void {
    const gate = this.#plugins.some((plugin) => plugin.preEnqueue?.(entry.pod) !== undefined);
    entry.place = gate ? "gated" : "active";
    if (gate) return;
    this.#active.add(entry);
    this.#ready();
  }
}

/** PrioritySort. */
function before(a: QueuedPod, b: QueuedPod): boolean {
  const [high, low] = [a.pod.spec.priority ?? 0, b.pod.spec.priority ?? 0];
  return high === low ? a.since < b.since : high > low;
}
