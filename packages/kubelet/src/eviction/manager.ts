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

/** How a node protects itself; times in milliseconds. */
export interface EvictionSettings {
  /** None: pods are evicted for their own limits of storage only. */
  readonly thresholds: readonly Threshold[];
  /** How long a condition stays once nothing asks for it (`evictionPressureTransitionPeriod`). */
  readonly pressureTransitionPeriod: number;
  /** Seconds that pods may take to end at most because of a soft threshold (`evictionMaxPodGracePeriod`). */
  readonly maxPodGracePeriodSeconds: number;
}

/** A pod that may be evicted. */
export interface EvictablePod {
  readonly pod: Pod;
  /** Begins to end the pod, with an event. Resolves when nothing of it runs. */
  end(end: PodEnd): Promise<void>;
}

export interface EvictionOptions extends EvictionSettings {
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly signals: SignalSource;
  /** Those that run. */
  pods(): readonly EvictablePod[];
  /** What pods use, by UID; those of which nothing is known are left out. */
  usage(pods: readonly Pod[]): Promise<ReadonlyMap<string, PodUsage>>;
  /** What a pod has too much of, if it has: the message of its eviction. */
  excess(pod: Pod): Promise<string | undefined>;
  /** Removes images that no container uses. */
  reclaimImages(): Promise<void>;
  /** An event of the Node. */
  event(type: "Normal" | "Warning", reason: string, message: string): void;
  /** The conditions have changed. */
  changed(): void;
}

/** Interval in milliseconds between two observations. Upstream: pkg/kubelet/kubelet.go, evictionMonitoringPeriod. */
const monitoringPeriod = 10_000;
/** Milliseconds for an evicted pod to be gone before the next look. Upstream: podCleanupTimeout. */
const cleanupTimeout = 30_000;
/** Seconds that evicted pods have where it is urgent. Upstream: immediateEvictionGracePeriodSeconds. */
const immediateGraceSeconds = 1;

/** Ends pods when the node runs out of something, and those that take more storage than they say. */
export class EvictionManager {
  readonly #options: EvictionOptions;
  readonly #stop = new AbortController();
  #state: PressureState = noPressure;
  #running: Promise<void> | undefined;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /** What the Node is short of. */
  get conditions(): ReadonlySet<PressureCondition> {
    return this.#state.conditions;
  }

  /** Why the node takes no such pod now. */
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

  /** Returns the ends of the pods that are evicted. */
  async #look(): Promise<readonly Promise<void>[]> {
    const { thresholds, signals, clock, pressureTransitionPeriod, pods } = this.#options;
    const running = pods();
    // The limits of pods hold whatever can be seen of the node.
    const excessive = await this.#evictExcessive(running);
    if (excessive.length > 0) return excessive;
    const observations: Observations = thresholds.length === 0 ? new Map() : await signals.observe();
    const before = this.#state;
    this.#state = nextPressure(before, thresholds, observations, pressureTransitionPeriod, clock.now());
    this.#tell(before.conditions);
    const [threshold] = this.#state.toReclaim;
    if (threshold === undefined) return [];
    const { resource } = evictionSignals[threshold.signal];
    this.#options.event("Warning", "EvictionThresholdMet", `Attempting to reclaim ${resource}`);
    if (await this.#reclaimsWithoutPods(threshold.signal)) return [];
    return this.#evictOne(threshold, running, observations);
  }

  /** Reports conditions that have come or gone. Upstream: pkg/kubelet/nodestatus/setters.go. */
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

  /** True if the room that unused images took is enough. Upstream: reclaimNodeLevelResources. */
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
    // Critical pods of all that run are never evicted, whatever they use.
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
    const message = evictionMessage(resource, pod, usageOf(pod), needed, observed.available);
    log.warn({ pod: pod.metadata.name, namespace: pod.metadata.namespace, message }, "a pod is evicted");
    return [chosen.end({ reason: "Evicted", message, graceSeconds, isDisruption: true })];
  }
}

/** Reasons and messages of conditions, and the events of their changes. Upstream: pkg/kubelet/nodestatus/setters.go. */
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
