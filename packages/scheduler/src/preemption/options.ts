import type { KubernetesVersion } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { PodDisruptionBudget } from "@dray/api/policy/v1";
import type { EventRecorder } from "@dray/client";
import type { SchedulerCache } from "../cache/cache.ts";
import type { Extenders } from "../extenders/extenders.ts";
import type { EvaluationBudget } from "../framework/evaluation-budget.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { PluginArgs } from "../plugins/args.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";
import type { PreemptionExecutor } from "./executor.ts";
import type { Trials } from "./victims.ts";

export interface DefaultPreemptionOptions {
  readonly args: PluginArgs["DefaultPreemption"];
  /** Release whose messages are used. */
  readonly release: KubernetesVersion;
  readonly executor: Pick<PreemptionExecutor, "start" | "isPreempting">;
  /** Trials of the profile. */
  readonly trials: () => Trials;
  readonly recorder: EventRecorder;
  readonly cache: Pick<SchedulerCache, "node" | "nodes">;
  /** Absent where pods are not scheduled in groups, or do not leave in groups. */
  readonly groups?: PodGroups | undefined;
  /** Whether groups have a preemption policy of their own (gate PodGroupPreemptionPolicy). */
  readonly hasGroupPolicies: boolean;
  /** The node that the pod is nominated to, also before its status says so. */
  readonly nomination: (pod: Pod) => string | undefined;
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly budget: EvaluationBudget;
  readonly extenders: Pick<Extenders, "preemptsFor" | "preempt">;
  readonly metrics: SchedulerMetrics;
  readonly now: () => number;
  /** Between 0 and 1: where the search for candidates begins. */
  readonly random: () => number;
}
