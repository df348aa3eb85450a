import { exponentialBuckets, MetricsRegistry } from "@dray/client";
import type { SchedulerCache } from "../cache/cache.ts";
import type { SchedulingQueue } from "../queue/queue.ts";
import type { QueuedPod } from "../queue/queued-pod.ts";

export type ExtensionPoint =
  | "PreFilter"
  | "Filter"
  | "PostFilter"
  | "PodGroupPostFilter"
  | "PreScore"
  | "Score"
  | "Reserve"
  | "Unreserve"
  | "Permit"
  | "PreBind"
  | "Bind"
  | "PostBind";

/** How an extension point ended, in the words of kube-scheduler. */
export type Status = "Success" | "Error" | "Unschedulable" | "UnschedulableAndUnresolvable" | "Wait" | "Skip";

export type AttemptResult = "scheduled" | "unschedulable" | "error";

export type GroupAttemptResult = AttemptResult | "waiting_on_preemption";

/** Kinds of preemptors. */
export type PreemptorType = "pod" | "podgroup" | "compositepodgroup";

/** More attempts count together. */
const maxAttemptsLabel = 15;
const attemptSeconds = exponentialBuckets(0.001, 2, 15);
const pointSeconds = exponentialBuckets(0.0001, 2, 12);
const pluginSeconds = exponentialBuckets(0.00001, 1.5, 20);

/**
 * Metrics under kube-scheduler's names; times in seconds. Upstream: pkg/scheduler/metrics/metrics.go.
 */
export class SchedulerMetrics {
  readonly registry = new MetricsRegistry();
  /** Milliseconds from any point on, with fractions. */
  readonly now: () => number;
  readonly #attempts = this.registry.counter(
    "scheduler_schedule_attempts_total",
    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    ["profile", "result"],
  );
  readonly #attemptDuration = this.registry.histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    attemptSeconds,
    ["profile", "result"],
  );
  readonly #algorithm = this.registry.histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "Scheduling algorithm latency in seconds",
    attemptSeconds,
  );
  readonly #sli = this.registry.histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.",
    exponentialBuckets(0.01, 2, 20),
    ["attempts"],
  );
  readonly #podAttempts = this.registry.histogram(
    "scheduler_pod_scheduling_attempts",
    "Number of attempts to successfully schedule a pod.",
    exponentialBuckets(1, 2, 5),
  );
  readonly #afterFlush = this.registry.counter(
    "scheduler_pod_scheduled_after_flush_total",
    "Number of pods that were successfully scheduled after being flushed from unschedulableEntities due to timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
  );
  readonly #points = this.registry.histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Latency for running all plugins of a specific extension point.",
    pointSeconds,
    ["extension_point", "profile", "status"],
  );
  readonly #plugins = this.registry.histogram(
    "scheduler_plugin_execution_duration_seconds",
    "Duration for running a plugin at a specific extension point.",
    pluginSeconds,
    ["extension_point", "plugin", "status"],
  );
  readonly #evaluations = this.registry.counter(
    "scheduler_plugin_evaluation_total",
    "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).",
    ["extension_point", "plugin", "profile"],
  );
  readonly #permitWait = this.registry.histogram(
    "scheduler_permit_wait_duration_seconds",
    "Duration of waiting on permit.",
    attemptSeconds,
    ["result"],
  );
  readonly #incoming = this.registry.counter(
    "scheduler_queue_incoming_pods_total",
    "Number of pods added to scheduling queues by event and queue type.",
    ["event", "queue"],
  );
  readonly #preemptionAttempts = this.registry.counter(
    "scheduler_preemption_attempts_total",
    "Total preemption attempts in the cluster till now",
  );
  readonly #victims = this.registry.histogram(
    "scheduler_preemption_victims",
    "Number of selected preemption victims for preemption initiated by a single pod",
    exponentialBuckets(1, 2, 7),
  );
  readonly #groupPreemptionAttempts = this.registry.counter(
    "scheduler_workload_preemption_attempts_total",
    "Total preemption attempts initiated by workload (including pod groups) in the cluster till now.",
    ["result"],
  );
  readonly #groupVictims = this.registry.histogram(
    "scheduler_workload_preemption_victims",
    "Number of pod preemption victims caused by workload preemption.",
    exponentialBuckets(1, 2, 11),
  );
  readonly #disruptedGroups = this.registry.histogram(
    "scheduler_preemption_workload_disruptions",
    "Number of workload preemption units being preempted. A single preemption unit can be all pods in a pod group (in case of DisruptionMode=all), or a single pod (in case of DisruptionMode=single).",
    exponentialBuckets(1, 2, 11),
    ["preemptor"],
  );
  readonly #groupAttempts = this.registry.counter(
    "scheduler_podgroup_schedule_attempts_total",
    "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be scheduled, while 'error' means an internal scheduler problem.",
    ["result", "profile"],
  );
  readonly #groupAttemptDuration = this.registry.histogram(
    "scheduler_podgroup_scheduling_attempt_duration_seconds",
    "Pod group scheduling attempt latency in seconds",
    exponentialBuckets(0.001, 2, 15),
    ["result", "profile"],
  );
  readonly #groupAlgorithm = this.registry.histogram(
    "scheduler_podgroup_scheduling_algorithm_duration_seconds",
    "Pod group scheduling algorithm latency in seconds",
    exponentialBuckets(0.001, 2, 15),
  );
  readonly #violations = this.registry.counter(
    "scheduler_preemption_pdb_violations_total",
    "Total number of pod disruption budget violations caused by preemption.",
    ["preemptor"],
  );
  readonly #evaluation = this.registry.histogram(
    "scheduler_preemption_evaluation_duration_seconds",
    "Duration in seconds for identifying the target preemption victims.",
    exponentialBuckets(0.001, 2, 16),
    ["preemptor", "result"],
  );
  readonly #execution = this.registry.histogram(
    "scheduler_preemption_execution_duration_seconds",
    "Duration in seconds for preempting the target preemption victims. With async preemption enabled, preemption execution does not block the scheduling of other pods.",
    exponentialBuckets(0.001, 2, 16),
    ["preemptor", "result"],
  );

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Gauges over the queue and the cache. */
  watch(queue: SchedulingQueue, cache: SchedulerCache): void {
    this.registry.gauge(
      "scheduler_pending_pods",
      "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
      ["queue"],
      () => {
        const { "in-flight": _, ...waiting } = queue.counts();
        return Object.entries(waiting).map(([place, count]) => [[place], count] as const);
      },
    );
    this.registry.gauge(
      "scheduler_unschedulable_pods",
      "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
      ["plugin", "profile"],
      () => queue.rejections(),
    );
    this.registry.gauge(
      "scheduler_cache_size",
      "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
      ["type"],
      () => Object.entries(cache.counts()).map(([type, count]) => [[type], count] as const),
    );
  }

  /** An attempt that began at `since` is over. */
  attempted(profile: string, result: AttemptResult, since: number): void {
    this.#attempts.add([profile, result]);
    this.#attemptDuration.observe(this.#seconds(since), [profile, result]);
  }

  decided(since: number): void {
    this.#algorithm.observe(this.#seconds(since));
  }

  /** The pod is bound; `waited` in milliseconds, since it came to the queue of ready pods. */
  bound({ attempts, flushed }: QueuedPod, waited: number): void {
    this.#sli.observe(waited / 1000, [
      attempts >= maxAttemptsLabel ? `${maxAttemptsLabel}+` : String(attempts),
    ]);
    this.#podAttempts.observe(attempts);
    if (flushed) this.#afterFlush.add();
  }

  point(point: ExtensionPoint, profile: string, status: Status, since: number): void {
    this.#points.observe(this.#seconds(since), [point, profile, status]);
  }

  plugin(point: ExtensionPoint, plugin: string, status: Status, since: number): void {
    this.#plugins.observe(this.#seconds(since), [point, plugin, status]);
  }

  evaluated(point: ExtensionPoint, plugin: string, profile: string, times = 1): void {
    this.#evaluations.add([point, plugin, profile], times);
  }

  permitWaited(result: Status, since: number): void {
    this.#permitWait.observe(this.#seconds(since), [result]);
  }

  /** A pod came to a place of the queue. */
  moved(queue: string, event: string): void {
    this.#incoming.add([event, queue]);
  }

  preempting(preemptor: PreemptorType, status: Status, since: number): void {
    if (preemptor === "pod") this.#preemptionAttempts.add();
    else this.#groupPreemptionAttempts.add([status]);
    this.#evaluation.observe(this.#seconds(since), [preemptor === "pod" ? "pod" : "podgroup", status]);
  }

  chosen(preemptor: PreemptorType, victims: number, violations: number, disruptedGroups: number): void {
    (preemptor === "pod" ? this.#victims : this.#groupVictims).observe(victims);
    if (disruptedGroups > 0) this.#disruptedGroups.observe(disruptedGroups, [preemptor]);
    if (violations > 0) this.#violations.add([preemptor], violations);
  }

  preempted(preemptor: PreemptorType, result: "success" | "error", since: number): void {
    this.#execution.observe(this.#seconds(since), [preemptor, result]);
  }

  /** An attempt to schedule a group that began at `since` is over. */
  groupAttempted(profile: string, result: GroupAttemptResult, since: number): void {
    this.#groupAttempts.add([result, profile]);
    this.#groupAttemptDuration.observe(this.#seconds(since), [result, profile]);
  }

  groupDecided(since: number): void {
    this.#groupAlgorithm.observe(this.#seconds(since));
  }

  #seconds(since: number): number {
    return (this.now() - since) / 1000;
  }
}
