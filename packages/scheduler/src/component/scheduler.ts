import type { Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { ProcessMetrics } from "@dray/client";
import { defaultSchedulerConfiguration } from "../config/read.ts";
import type { SchedulerConfiguration } from "../config/types.ts";
import { BindingCycle } from "../cycle/binding-cycle.ts";
import { FailureHandler } from "../cycle/failure-handler.ts";
import { PodStatusWriter } from "../cycle/pod-status.ts";
import type { Profile } from "../cycle/profile.ts";
import type { ClusterEvent } from "../framework/framework.ts";
import type { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import { GroupStatusWriter } from "../podgroup/status.ts";
import { GroupCycle } from "../podgroup-cycle/cycle.ts";
import { GroupPlacer } from "../podgroup-cycle/placement.ts";
import { PreemptionExecutor } from "../preemption/executor.ts";
import { createProfile } from "../profile/create-profile.ts";
import { SchedulingQueue } from "../queue/queue.ts";
import { EquivalentPods } from "../shared/equivalent-pods.ts";
import { startInformers } from "../shared/informers.ts";
import type { SchedulerOptions } from "../shared/options.ts";
import { createShared, type Shared } from "../shared/shared.ts";
import { handleEvents } from "./event-handlers.ts";
import { SchedulingLoop } from "./loop.ts";
import { unreadableReporter } from "./unreadable-reporter.ts";

export interface Scheduler {
  /** Resolves when the signal has aborted and the bindings begun are done. */
  readonly stopped: Promise<void>;
  /** Returns how many pods wait, by the reason why (metric scheduler_pending_pods). */
  pending(): Record<string, number>;
  /** In the text format of Prometheus, under the names of kube-scheduler. */
  metrics(): string;
}

/** Starts to schedule; resolves when all caches are complete and the first pods are being tried. */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { client, clock, log, features, signal } = options;
  const configuration = configurationOf(options);
  const shared = await createShared(options, configuration, {
    start: (...args) => executor.start(...args),
    isPreempting: (uid) => executor.isPreempting(uid),
  });
  const { kinds, informers, groups, allocator, retry, cache, nominator, waiting, budget } = shared;
  const { metrics, extenders } = shared;
  const profiles = new Map(
    configuration.profiles.map((each) => [each.schedulerName, createProfile(options, each, shared)]),
  );
  const isOurs = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" && profiles.has(pod.spec.schedulerName ?? "") && isPodActive(pod);
  // The queue holds pods of our profiles only (`isOurs`).
  const profileOf = (pod: Pod): Profile => profiles.get(pod.spec.schedulerName ?? "")!;

  const report = unreadableReporter(profiles, log);

  const queue = new SchedulingQueue({
    points: (pod) => profileOf(pod).points,
    clock,
    ready: () => loop.wake(),
    initialBackoff: configuration.podInitialBackoff,
    maxBackoff: configuration.podMaxBackoff,
    moved: (place, event) => metrics.moved(place, event),
    unreadable: (pod, error) => report(pod, error),
  });
  let synced = false;
  const equivalentPods = createEquivalentPods(shared);
  const notify = (event: ClusterEvent): void => {
    if (event.kind === "released") equivalentPods.clear();
    if (synced) queue.notify(event);
  };
  const status = new PodStatusWriter({ client, clock, retry, isOurs });
  const failures = new FailureHandler({ queue, nominator, status, metrics, clock, log, signal });
  const parts = {
    signal,
    cache,
    queue,
    nominator,
    waiting,
    status,
    failures,
    notify,
    metrics,
    extenders,
    clock,
    log,
  };
  const bindings = new BindingCycle(parts);
  // The inputs of other plugins and of extenders are unknown here.
  const known =
    options.plugins === undefined && configuration.extenders.length === 0 ? equivalentPods : undefined;
  const groupStatus = kinds.groups && new GroupStatusWriter({ kind: kinds.groups, client, clock, retry });
  const placer = new GroupPlacer({
    ...parts,
    groups,
    bindings,
    hasTopology: features.enabled("TopologyAwareWorkloadScheduling"),
    random: options.random,
  });
  const groupCycle =
    groupStatus &&
    new GroupCycle({
      ...parts,
      equivalentPods: known,
      groups,
      bindings,
      placer,
      status: groupStatus,
      hasPolicies: features.enabled("PodGroupPreemptionPolicy"),
    });
  const together = groupCycle && { groups: groupCycle };
  const loop = new SchedulingLoop({
    ...parts,
    ...together,
    equivalentPods: known,
    bindings,
    profileOf,
    budget,
  });
  const executor = new PreemptionExecutor({ ...parts, client, retry, track: (work) => loop.track(work) });
  handleEvents({ ...parts, informers, allocator, groups, isOurs, report });
  equivalentPods.follow(informers);
  await startInformers(informers, signal);
  synced = true;
  // Pods that came before what they wait for.
  notify({ kind: "released" });
  loop.start();

  const stopped = aborted(signal).then(async () => {
    queue.close();
    waiting.close();
    await loop.settled();
    await Promise.all([...profiles.values()].map(({ recorder }) => recorder.flush()));
  });
  metrics.watch(queue, cache);
  return { stopped, pending: () => queue.counts(), metrics: metricsText(options, metrics) };
}

function metricsText({ clock, features }: SchedulerOptions, { registry }: SchedulerMetrics): () => string {
  const ofProcess = new ProcessMetrics({ clock, release: features.version });
  return () => `${registry.text()}${ofProcess.text()}`;
}

function createEquivalentPods({ cache, claims, nominator }: Shared): EquivalentPods {
  return new EquivalentPods({
    cache,
    claim: (namespace, claim) => claims.get(namespace, claim),
    isNominated: (pod) => nominator.nodeOf(pod.metadata.uid) !== undefined,
    hasExtendedClaim: (pod) => claims.extended(pod) !== undefined,
  });
}

/** The given configuration, or the default one with `name` as the name of its profile. */
function configurationOf({ configuration, name, features }: SchedulerOptions): SchedulerConfiguration {
  if (configuration !== undefined) return configuration;
  const defaults = defaultSchedulerConfiguration(features);
  const profiles = defaults.profiles.map((profile) => (name ? { ...profile, schedulerName: name } : profile));
  return { ...defaults, profiles };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
