import type { Pod } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import type { ExtensionPoints } from "../framework/extension-points.ts";
import type { ClusterEvent } from "../framework/framework.ts";
import { eventLabel } from "./event-label.ts";
import { Heap } from "./heap.ts";
import { anyEvent, byPriority, type Place, type QueuedPod } from "./queued-pod.ts";

/** Milliseconds after which a rejected pod is tried again though no event helped it. */
const maxUnschedulable = 300_000;
/** Interval of the check for such pods, while there are rejected pods. */
const flushInterval = 30_000;

export interface QueueOptions {
  /** The plugins of the pod's profile. */
  readonly points: (pod: Pod) => ExtensionPoints;
  readonly clock: Clock;
  /** Called whenever there is a pod to try. */
  readonly ready: () => void;
  /** Milliseconds that a pod waits after its first failed attempt, doubled with each; 1 s if absent. */
  readonly initialBackoff?: number;
  /** 10 s if absent; 0: no back-off. */
  readonly maxBackoff?: number;
  /** Called for each pod that moves, with its new place and the event that moved it. */
  readonly moved?: (place: Place, event: string) => void;
  /** Called when a plugin throws for a pod. */
  readonly unreadable?: (pod: Pod, error: Error) => void;
}

/**
 * Pods that wait for a node, in the order of QueueSort. A rejected pod comes back with an event that a plugin
 * which rejected it finds helpful, when its back-off is over; sooner if the scheduler has nothing else to do.
 *
 * Upstream: pkg/scheduler/backend/queue/scheduling_queue.go.
 */
export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #initialBackoff: number;
  readonly #maxBackoff: number;
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active: Heap<QueuedPod>;
  readonly #backoff: Heap<QueuedPod>;
  /** After errors: nothing but time helps, so these are not tried sooner. */
  readonly #errors: Heap<QueuedPod>;
  readonly #unschedulable = new Set<QueuedPod>();
  readonly #gated = new Set<QueuedPod>();
  readonly #inFlight = new Set<QueuedPod>();
  #sequence = 0;
  #backoffTimer: { readonly at: number; readonly cancel: () => void } | undefined;
  #cancelFlush: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#initialBackoff = options.initialBackoff ?? 1_000;
    this.#maxBackoff = options.maxBackoff ?? 10_000;
    const before = (a: QueuedPod, b: QueuedPod): boolean => {
      const less = options.points(a.pod).queueSort[0]?.less ?? byPriority;
      return less(a, b) || (!less(b, a) && a.sequence < b.sequence);
    };
    this.#active = new Heap(before);
    const sooner = (a: QueuedPod, b: QueuedPod): boolean =>
      a.backOffUntil === b.backOffUntil ? before(a, b) : a.backOffUntil < b.backOffUntil;
    this.#backoff = new Heap(sooner);
    this.#errors = new Heap(sooner);
  }

  /** Returns how many pods are in each place. */
  counts(): Record<Place, number> {
    const counts = { active: 0, backoff: 0, unschedulable: 0, gated: 0, "in-flight": 0 };
    for (const entry of this.#pods.values()) counts[entry.place]++;
    return counts;
  }

  /** Returns how many pods wait because of each plugin, by plugin and profile. */
  rejections(): Iterable<readonly [readonly [string, string], number]> {
    const counts = new Map<string, [readonly [string, string], number]>();
    for (const { pod, place, rejectedBy } of this.#pods.values()) {
      if (place === "in-flight") continue;
      for (const plugin of rejectedBy) {
        if (plugin === anyEvent) continue;
        const profile = pod.spec.schedulerName ?? "";
        const known = counts.get(`${plugin}/${profile}`);
        if (known === undefined) counts.set(`${plugin}/${profile}`, [[plugin, profile], 1]);
        else known[1]++;
      }
    }
    return counts.values();
  }

  /** A pod that wants a node, new or changed. `old` is its state before. */
  set(pod: Pod, schedulingChanged: boolean, old?: Pod): void {
    const { uid } = pod.metadata;
    const entry = this.#pods.get(uid);
    if (entry === undefined) {
      const added: QueuedPod = {
        pod,
        place: "gated",
        sequence: this.#sequence++,
        attempts: 0,
        since: this.#clock.now(),
        attemptSince: 0,
        flushed: false,
        rejections: 0,
        errors: 0,
        rejectedBy: [],
        missed: [],
        backOffUntil: 0,
      };
      this.#pods.set(uid, added);
      this.#activate(added, "UnscheduledPodAdd");
      return;
    }
    entry.pod = pod;
    if (entry.place === "gated") this.#backOff(entry, "TargetPodUpdate");
    else if (schedulingChanged) {
      this.#notify(entry, { kind: "own-pod", uid, pod, ...(old && { old }) });
    }
  }

  delete(uid: string): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    this.#leave(entry);
    this.#pods.delete(uid);
  }

  /** Takes the next pod to try. Without any that is due, one whose back-off is not over. */
  pop(): QueuedPod | undefined {
    const entry = this.#active.pop() ?? this.#backoff.pop();
    if (entry !== undefined) this.#start(entry);
    return entry;
  }

  #start(entry: QueuedPod): void {
    this.#leave(entry);
    entry.place = "in-flight";
    this.#inFlight.add(entry);
    entry.attempts++;
  }

  /**
   * Takes the other waiting pods of a group, whose back-offs count as over. Undefined: PreEnqueue turns one
   * of them away, or the one that was taken before; then all of them wait for that.
   * Upstream: scheduling_queue.go, runPreEnqueuePlugins.
   */
  takeWith(entry: QueuedPod, uids: readonly string[]): readonly QueuedPod[] | undefined {
    const others = uids
      .flatMap((uid) => this.#pods.get(uid) ?? [])
      .filter(({ place }) => place !== "in-flight");
    const all = [entry, ...others];
    const gates = all.flatMap((each) => (this.#gate(each, "PodGroup") ? (each.gatedBy ?? []) : []));
    if (gates[0] !== undefined) {
      for (const waiting of all) {
        waiting.gatedBy ??= gates[0];
        this.#park(waiting, "gated", "PodGroup");
      }
      return undefined;
    }
    for (const other of others) this.#start(other);
    return others.sort((a, b) => a.sequence - b.sequence);
  }

  /** Reports whether the pod wants a node still. */
  has(entry: QueuedPod): boolean {
    return this.#pods.get(entry.pod.metadata.uid) === entry;
  }

  /** The pod is being bound: events do not matter any more, since a failure from here on is an error. */
  binding(entry: QueuedPod): void {
    this.#inFlight.delete(entry);
    entry.missed = [];
  }

  /**
   * The attempt failed: by these plugins, or (none) by an error, which is tried again after a while. False:
   * the pod does not wait any more.
   */
  failed(entry: QueuedPod, rejectedBy: readonly string[]): boolean {
    if (!this.has(entry)) return false;
    const { missed } = entry;
    this.#leave(entry);
    entry.rejectedBy = rejectedBy;
    entry.since = this.#clock.now();
    entry.flushed = false;
    if (rejectedBy.length === 0) entry.errors++;
    else {
      entry.rejections++;
      entry.errors = 0;
    }
    entry.backOffUntil = entry.since + this.#backoffTime(entry.errors || entry.rejections);
    const helped = missed.some((event) => this.#helps(entry, event));
    if (rejectedBy.length === 0 || helped) this.#backOff(entry, "ScheduleAttemptFailure");
    else this.#park(entry, "unschedulable", "ScheduleAttemptFailure");
    return true;
  }

  /** Wakes the pods that the event may help. */
  notify(event: ClusterEvent): void {
    if (event.kind === "claim" && event.users !== undefined) {
      // One of thousands of waiting pods uses the claim (KEP-4247; gate SchedulerPreQueueingHints).
      for (const uid of event.users) {
        const entry = this.#pods.get(uid);
        if (entry !== undefined) this.#notify(entry, event);
      }
      return;
    }
    const waiting = [...this.#unschedulable, ...this.#gated];
    for (const entry of waiting) this.#notify(entry, event);
    for (const entry of this.#inFlight) this.#notify(entry, event);
  }

  /** Tries a waiting pod again whatever plugins say, without a back-off. */
  activate(uid: string): void {
    const entry = this.#pods.get(uid);
    if (entry !== undefined && entry.place !== "in-flight" && entry.place !== "active")
      this.#activate(entry, "ForceActivate");
  }

  /** A plugin may let a pod through PreEnqueue that it turned away. */
  regate(uid: string): void {
    const entry = this.#pods.get(uid);
    if (entry?.place === "gated") this.#backOff(entry, "ForceActivate");
  }

  close(): void {
    for (const uid of [...this.#pods.keys()]) this.delete(uid);
    this.#backoffTimer?.cancel();
    this.#backoffTimer = undefined;
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
  }

  #notify(entry: QueuedPod, event: ClusterEvent): void {
    // Devices and room that a rejected pod itself releases do not help it.
    if (event.kind === "released" && event.pod?.metadata.uid === entry.pod.metadata.uid) return;
    if (entry.place === "in-flight") entry.missed.push(event);
    const waits = entry.place === "unschedulable" || entry.place === "gated";
    if (waits && this.#helps(entry, event)) this.#backOff(entry, eventLabel(event));
  }

  #helps(entry: QueuedPod, event: ClusterEvent): boolean {
    const { byName } = this.#options.points(entry.pod);
    const asked = entry.gatedBy === undefined ? entry.rejectedBy : [...entry.rejectedBy, entry.gatedBy];
    try {
      return asked.some((name) => byName.get(name)?.mayHelp(entry.pod, event) ?? true);
    } catch (error) {
      // As upstream (isPodWorthRequeuing): where a plugin cannot say, the pod is tried.
      this.#options.unreadable?.(entry.pod, error as Error);
      return true;
    }
  }

  #backoffTime(count: number): number {
    return Math.min(this.#initialBackoff * 2 ** (count - 1), this.#maxBackoff);
  }

  #backOff(entry: QueuedPod, event: string): void {
    if (entry.backOffUntil <= this.#clock.now()) {
      this.#activate(entry, event);
      return;
    }
    if (this.#gate(entry, event)) return;
    this.#leave(entry);
    entry.place = "backoff";
    (entry.rejectedBy.length === 0 ? this.#errors : this.#backoff).add(entry);
    this.#options.moved?.("backoff", event);
    this.#awaitBackoff();
    if (this.#backoff.has(entry)) this.#options.ready();
  }

  #activate(entry: QueuedPod, event: string): void {
    if (this.#gate(entry, event)) return;
    this.#leave(entry);
    entry.place = "active";
    entry.firstActive ??= this.#clock.now();
    this.#active.add(entry);
    this.#options.moved?.("active", event);
    this.#options.ready();
  }

  /** Reports whether a plugin turns the pod away. */
  #gate(entry: QueuedPod, event: string): boolean {
    const { preEnqueue } = this.#options.points(entry.pod);
    const gate = preEnqueue.find((plugin) => this.#turnsAway(plugin, entry.pod));
    if (gate === undefined) {
      delete entry.gatedBy;
      return false;
    }
    entry.gatedBy = gate.name;
    entry.flushed = false;
    if (!this.#gated.has(entry)) this.#park(entry, "gated", event);
    return true;
  }

  #turnsAway(plugin: ExtensionPoints["preEnqueue"][number], pod: Pod): boolean {
    try {
      return plugin.preEnqueue(pod) !== undefined;
    } catch (error) {
      this.#options.unreadable?.(pod, error as Error);
      return true;
    }
  }

  #park(entry: QueuedPod, place: "unschedulable" | "gated", event: string): void {
    this.#leave(entry);
    entry.place = place;
    (place === "gated" ? this.#gated : this.#unschedulable).add(entry);
    this.#options.moved?.(place, event);
    this.#awaitFlush();
  }

  #leave(entry: QueuedPod): void {
    this.#active.delete(entry);
    this.#backoff.delete(entry);
    this.#errors.delete(entry);
    this.#unschedulable.delete(entry);
    this.#gated.delete(entry);
    this.#inFlight.delete(entry);
    entry.missed = [];
  }

  /** One timer for all back-offs: for the one that ends first. */
  #awaitBackoff(): void {
    const at = Math.min(
      this.#backoff.peek()?.backOffUntil ?? Number.POSITIVE_INFINITY,
      this.#errors.peek()?.backOffUntil ?? Number.POSITIVE_INFINITY,
    );
    if (at === Number.POSITIVE_INFINITY || (this.#backoffTimer?.at ?? Number.POSITIVE_INFINITY) <= at) return;
    this.#backoffTimer?.cancel();
    const cancel = this.#clock.after(at - this.#clock.now(), () => {
      this.#backoffTimer = undefined;
      const now = this.#clock.now();
      for (const heap of [this.#backoff, this.#errors])
        for (let due = heap.peek(); due !== undefined && due.backOffUntil <= now; due = heap.peek()) {
          heap.delete(due);
          this.#activate(due, "BackoffComplete");
        }
      this.#awaitBackoff();
    });
    this.#backoffTimer = { at, cancel };
  }

  /** Pods that no event has helped for long are tried again: a plugin may have missed one. */
  #awaitFlush(): void {
    this.#cancelFlush ??= this.#clock.after(flushInterval, () => {
      this.#cancelFlush = undefined;
      const before = this.#clock.now() - maxUnschedulable;
      for (const entry of [...this.#unschedulable, ...this.#gated])
        if (entry.since < before) {
          entry.flushed = true;
          this.#backOff(entry, "UnschedulableTimeout");
        }
      if (this.#unschedulable.size + this.#gated.size > 0) this.#awaitFlush();
    });
  }
}
