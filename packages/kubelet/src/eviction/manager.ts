import type { Pod } from "@dray/api/core/v1";
import { type Clock, type Log, sleep } from "@dray/client";
import type { PodEnd } from "../types/pod-end.ts";
import type { Refusal } from "../types/refusal.ts";
import { isCriticalPod, refuseUnderPressure } from "./admission.ts";
import { nextPressure, noPressure, type PressureState } from "./pressure.ts";
import { evictionMessage, type PodUsage, rankPods } from "./ranking.ts";
import {
  type EvictionSignal,
  evictionSignals,
  type Observations,
  type PressureCondition,
  type SignalSource,
} from "./signals.ts";
import { amountOf, metThresholds, type Threshold } from "./thresholds.ts";

/** Settings of evictions; times in milliseconds. */
export interface EvictionSettings {
  /** If empty, pods are evicted for their own limits of storage only. */
  readonly thresholds: readonly Threshold[];
  /** How long a condition stays after its last threshold was met (`evictionPressureTransitionPeriod`). */
  readonly pressureTransitionPeriod: number;
  /** Maximum grace period in seconds of evictions by soft thresholds (`evictionMaxPodGracePeriod`). */
  readonly maxPodGracePeriodSeconds: number;
}

/** A pod that may be evicted. */
export interface EvictablePod {
  readonly pod: Pod;
  /** Begins to end the pod, with an event. Resolves when none of its containers runs. */
  end(end: PodEnd): Promise<void>;
}

export interface EvictionOptions extends EvictionSettings {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly signals: SignalSource;
  /** Running pods. */
  pods(): readonly EvictablePod[];
  /** Usage of pods by UID; unknown ones are omitted. */
  usage(pods: readonly Pod[]): Promise<ReadonlyMap<string, PodUsage>>;
  /** Returns the message of the eviction of a pod that exceeds its own limits. */
  excess(pod: Pod): Promise<string | undefined>;
  /** Removes images that no container uses. */
  reclaimImages(): Promise<void>;
  /** Records an event of the Node. */
  event(type: "Normal" | "Warning", reason: string, message: string): void;
  /** Called when a pod is evicted because of a signal. */
  evicted(signal: EvictionSignal): void;
  /** Called when the conditions have changed. */
  changed(): void;
}

/**
 * Interval in milliseconds between two observations. Upstream: pkg/kubelet/kubelet.go,
 * evictionMonitoringPeriod.
 */
const monitoringPeriod = 10_000;
/** Milliseconds for an evicted pod to end before the next observation. Upstream: podCleanupTimeout. */
const cleanupTimeout = 30_000;
/** Grace period of urgent evictions in seconds. Upstream: immediateEvictionGracePeriodSeconds. */
const immediateGraceSeconds = 1;

/** Evicts pods when the node runs out of a resource, and pods that exceed their own limits of storage. */
export class EvictionManager {
  readonly #options: EvictionOptions;
  readonly #stop = new AbortController();
  #state: PressureState = noPressure;
  #running: Promise<void> | undefined;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /** Conditions of the Node. */
  get conditions(): ReadonlySet<PressureCondition> {
    return this.#state.conditions;
  }

  /** Returns why the node admits no such pod now. */
  refusal(pod: Pod): Refusal | undefined {
    return refuseUnderPressure(pod, this.#state.conditions);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let evicted: readonly Promise<void>[] = [];
      try {
        evicted = await this.#look();
      } catch (error) {
        log.warn({ err: error }, "cannot observe the eviction signals");
      }
      if (evicted.length === 0) await sleep(clock, monitoringPeriod, signal);
      else await Promise.race([Promise.all(evicted), sleep(clock, cleanupTimeout, signal)]);
    }
  }

  /** Returns promises for the ends of evicted pods. */
  async #look(): Promise<readonly Promise<void>[]> {
    const { thresholds, signals, clock, pods } = this.#options;
    const running = pods();
    // Limits of pods apply even if signals cannot be observed.
    const excessive = await this.#evictExcessive(running);
    if (excessive.length > 0) return excessive;
    const observations: Observations = thresholds.length === 0 ? new Map() : await signals.observe();
    const before = this.#state;
    this.#state = nextPressure(before, observations, this.#options, clock.now());
    this.#tell(before.conditions);
    const [threshold] = this.#state.toReclaim;
    if (threshold === undefined) return [];
    const { resource } = evictionSignals[threshold.signal];
    this.#options.event("Warning", "EvictionThresholdMet", `Attempting to reclaim ${resource}`);
    if (await this.#reclaimsWithoutPods(threshold.signal)) return [];
    return this.#evictOne(threshold, running, observations);
  }

  /** Reports changed conditions. Upstream: pkg/kubelet/nodestatus/setters.go. */
  #tell(before: ReadonlySet<PressureCondition>): void {
    const { event, changed, nodeName } = this.#options;
    const { conditions } = this.#state;
    const changes = conditions.symmetricDifference(before);
    for (const condition of changes) {
      const reason = pressureTexts[condition][conditions.has(condition) ? "event" : "goneEvent"];
      event("Normal", reason, `Node ${nodeName} status is now: ${reason}`);
    }
    if (changes.size > 0) changed();
  }

  async #evictExcessive(running: readonly EvictablePod[]): Promise<Promise<void>[]> {
    const { excess, log } = this.#options;
    const ends: Promise<void>[] = [];
    for (const one of running) {
      if (this.#stop.signal.aborted || isCriticalPod(one.pod)) continue;
      try {
        const message = await excess(one.pod);
        if (message === undefined) continue;
        ends.push(one.end({ reason: "Evicted", message, graceSeconds: immediateGraceSeconds }));
      } catch (error) {
        log.warn({ pod: one.pod.metadata.name, err: error }, "cannot measure the disk usage of a pod");
      }
    }
    return ends;
  }

  /** Returns true if removing unused images was enough. Upstream: reclaimNodeLevelResources. */
  async #reclaimsWithoutPods(signal: EvictionSignal): Promise<boolean> {
    const { signals, thresholds, reclaimImages, log } = this.#options;
    if (evictionSignals[signal].condition !== "DiskPressure") return false;
    if (signal.startsWith("nodefs.") && (await signals.hasDedicatedImageFs())) return false;
    try {
      await reclaimImages();
    } catch (error) {
      log.warn({ err: error }, "unused images could not all be removed");
    }
    return metThresholds(thresholds, await signals.observe(), true).length === 0;
  }

  async #evictOne(
    threshold: Threshold,
    running: readonly EvictablePod[],
    observations: Observations,
  ): Promise<readonly Promise<void>[]> {
    const { signals, usage, maxPodGracePeriodSeconds, log } = this.#options;
    const { signal, value, gracePeriod } = threshold;
    const { resource } = evictionSignals[signal];
    const usages = await usage(running.map(({ pod }) => pod));
    const usageOf = ({ metadata }: Pod): PodUsage | undefined => usages.get(metadata.uid);
    const ranked = rankPods(signal, running, usageOf, await signals.hasDedicatedImageFs());
    // Critical pods are never evicted.
    const chosen = ranked.find(({ pod }) => !isCriticalPod(pod));
    const observed = observations.get(signal);
    if (chosen === undefined || observed === undefined) {
      log.warn(
        { resource, pods: running.length },
        "the node is short of a resource, and no pod can be evicted",
      );
      return [];
    }
    const { pod } = chosen;
    const own = Number(pod.spec.terminationGracePeriodSeconds ?? maxPodGracePeriodSeconds);
    const graceSeconds = gracePeriod === 0 ? immediateGraceSeconds : Math.min(own, maxPodGracePeriodSeconds);
    const needed = amountOf(value, observed.capacity);
    const message = evictionMessage(pod, usageOf(pod), {
      resource,
      threshold: needed,
      available: observed.available,
    });
    log.warn({ pod: pod.metadata.name, namespace: pod.metadata.namespace, message }, "a pod is evicted");
    this.#options.evicted(signal);
    return [chosen.end({ reason: "Evicted", message, graceSeconds, isDisruption: true })];
  }
}

/**
 * Reasons and messages of conditions, and the events of their changes. Upstream:
 * pkg/kubelet/nodestatus/setters.go.
 */
export const pressureTexts: Readonly<
  Record<
    PressureCondition,
    {
      readonly reason: string;
      readonly message: string;
      readonly event: string;
      readonly goneReason: string;
      readonly goneMessage: string;
      readonly goneEvent: string;
    }
  >
> = {
  MemoryPressure: {
    reason: "KubeletHasInsufficientMemory",
    message: "kubelet has insufficient memory available",
    event: "NodeHasInsufficientMemory",
    goneReason: "KubeletHasSufficientMemory",
    goneMessage: "kubelet has sufficient memory available",
    goneEvent: "NodeHasSufficientMemory",
  },
  DiskPressure: {
    reason: "KubeletHasDiskPressure",
    message: "kubelet has disk pressure",
    event: "NodeHasDiskPressure",
    goneReason: "KubeletHasNoDiskPressure",
    goneMessage: "kubelet has no disk pressure",
    goneEvent: "NodeHasNoDiskPressure",
  },
  PIDPressure: {
    reason: "KubeletHasInsufficientPID",
    message: "kubelet has insufficient PID available",
    event: "NodeHasInsufficientPID",
    goneReason: "KubeletHasSufficientPID",
    goneMessage: "kubelet has sufficient PID available",
    goneEvent: "NodeHasSufficientPID",
  },
};
