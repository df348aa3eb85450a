import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import { keyOf } from "@dray/client";
import { SchedulerCache } from "../cache/cache.ts";
import type { SchedulerConfiguration } from "../config/types.ts";
import { Extender } from "../extenders/extender.ts";
import { Extenders } from "../extenders/extenders.ts";
import { httpExtender } from "../extenders/http.ts";
import { EvaluationBudget } from "../framework/evaluation-budget.ts";
import { type RetryUnanswered, retryUnanswered } from "../framework/retry-unanswered.ts";
import { WaitingPods } from "../framework/waiting-pods.ts";
import { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import type { ClaimMetrics } from "../plugins/dynamic-resources/claim-binding.ts";
import { claimMetrics } from "../plugins/dynamic-resources/claim-metrics.ts";
import { ClaimWriter } from "../plugins/dynamic-resources/claim-writer.ts";
import { type ExtendedClass, preferredClass } from "../plugins/dynamic-resources/extended-resources.ts";
import { PendingAllocations } from "../plugins/dynamic-resources/pending-allocations.ts";
import type { CompositeLookup } from "../podgroup/hierarchy.ts";
import { PodGroups } from "../podgroup/pod-groups.ts";
import type { PreemptionExecutor } from "../preemption/executor.ts";
import { Nominator } from "../queue/nominator.ts";
import { createInformers, type Informers, servedKinds } from "./informers.ts";
import type { SchedulerOptions } from "./options.ts";

/** Parts that all profiles share. */
export interface Shared {
  readonly configuration: SchedulerConfiguration;
  readonly metrics: SchedulerMetrics;
  readonly extenders: Extenders;
  readonly claims: ClaimWriter;
  readonly kinds: Awaited<ReturnType<typeof servedKinds>>;
  readonly informers: Informers;
  readonly groups: PodGroups;
  readonly pending: PendingAllocations;
  /** By profile. */
  readonly claimMetricsOf: (profile: string) => ClaimMetrics;
  readonly allocator: Allocator;
  readonly retry: RetryUnanswered;
  readonly cache: SchedulerCache;
  readonly nominator: Nominator;
  readonly waiting: WaitingPods;
  readonly budget: EvaluationBudget;
  readonly executor: Pick<PreemptionExecutor, "start" | "isPreempting">;
}

/** Asks the server which kinds it has. `executor` evicts the victims of preemption. */
export async function createShared(
  options: SchedulerOptions,
  configuration: SchedulerConfiguration,
  executor: Shared["executor"],
): Promise<Shared> {
  const { client, clock, log, features, signal } = options;
  const retry = retryUnanswered(clock, signal);
  const kinds = await retry(() => servedKinds(client, features, log));
  const informers = createInformers(client, kinds);
  const budget = new EvaluationBudget();
  const allocator = createAllocator({
    newId: options.newId,
    evaluated: (cost) => budget.spend(cost),
    features: allocatorFeatures(features),
  });
  const cache = new SchedulerCache(features.version);
  const waiting = new WaitingPods(clock);
  const nominator = new Nominator((node) => cache.node(node)?.changed());
  const metrics = new SchedulerMetrics(options.elapsed);
  const extenders = new Extenders(
    configuration.extenders.map((each) => new Extender(each, httpExtender(each))),
    log,
  );
  const groups = createGroups(informers, cache, features);
  return {
    configuration,
    metrics,
    extenders,
    claims: new ClaimWriter({
      client,
      claims: informers.claims,
      retryUnanswered: retry,
      clock,
      learned: (object) => allocator.update({ kind: "claim", object, deleted: false }),
      overdrawn: (claim) => allocator.overdrawn(claim),
    }),
    kinds,
    informers,
    groups,
    pending: new PendingAllocations(allocator),
    claimMetricsOf: claimMetrics(metrics.registry, features),
    allocator,
    retry,
    cache,
    nominator,
    waiting,
    budget,
    executor,
  };
}

function createGroups(informers: Informers, cache: SchedulerCache, features: Features): PodGroups {
  return new PodGroups(
    (namespace, name) => informers.groups?.get({ namespace, name }),
    cache,
    features.version >= "1.37" || features.enabled("GangScheduling"),
    compositeLookup(informers),
  );
}

function compositeLookup({ groups, composites }: Informers): CompositeLookup | undefined {
  if (groups === undefined || composites === undefined) return undefined;
  return {
    composite: (namespace, name) => composites.get({ namespace, name }),
    groupsIn: (namespace, name) => groups.byIndex("parent", keyOf({ namespace, name })),
    compositesIn: (namespace, name) => composites.byIndex("parent", keyOf({ namespace, name })),
  };
}

export const extendedClasses =
  ({ classes }: Informers): ExtendedClass =>
  (resource) =>
    preferredClass(classes.byIndex("resource", resource));
