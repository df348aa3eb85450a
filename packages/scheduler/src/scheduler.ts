import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { type Client, type Clock, createEventRecorder, type EventRecorder, type Log } from "@dray/client";
import { AlikePods } from "./alike.ts";
import { type UntilAnswered, untilAnswered } from "./answered.ts";
import { BindingCycle } from "./binding.ts";
import { SchedulerCache } from "./cache.ts";
import { choosePlugins } from "./choose-plugins.ts";
import { defaultSchedulerConfiguration } from "./config/read.ts";
import type {
  EnabledPlugin,
  ProfileConfiguration,
  ProfilePlugins,
  SchedulerConfiguration,
} from "./config/types.ts";
import { feasibleNodesToFind, SchedulingCycle } from "./cycle.ts";
import { handleEvents } from "./event-handlers.ts";
import { Extender } from "./extenders/extender.ts";
import { Extenders } from "./extenders/extenders.ts";
import { httpExtender } from "./extenders/http.ts";
import { FailureHandler } from "./failure.ts";
import type { ClusterEvent, Plugin } from "./framework.ts";
import { GroupCycle } from "./group-cycle.ts";
import { GroupStatusWriter } from "./group-status.ts";
import { createInformers, type Informers, servedKinds, startInformers, volumeLookup } from "./informers.ts";
import { SchedulingLoop } from "./loop.ts";
import { claimMetrics } from "./metrics/claim-metrics.ts";
import { SchedulerMetrics } from "./metrics/scheduler-metrics.ts";
import { Nominator } from "./nominator.ts";
import type { PluginArgs } from "./plugin-args.ts";
import type { ClaimMetrics } from "./plugins/claim-binding.ts";
import { ClaimWriter } from "./plugins/claim-writer.ts";
import { defaultBinder } from "./plugins/default-binder.ts";
import { type ExtendedClass, hasServedResources, preferredClass } from "./plugins/extended-resources.ts";
import { defaultPlugins } from "./plugins/index.ts";
import { PendingAllocations } from "./plugins/pending-allocations.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { volumeWriter } from "./plugins/volume-writer.ts";
import { PodGroups } from "./pod-groups.ts";
import { PodStatusWriter } from "./pod-status.ts";
import { defaultPreemption } from "./preemption/default-preemption.ts";
import { PreemptionExecutor } from "./preemption/executor.ts";
import type { Profile } from "./profile.ts";
import { SchedulingQueue } from "./queue.ts";
import { Turn } from "./turn.ts";
import { WaitingPods } from "./waiting-pods.ts";

/** What plugins of a caller can use. */
export interface PluginHandle {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The pods that Permit holds back. */
  readonly waiting: WaitingPods;
}

export interface SchedulerOptions {
  /** As `system:kube-scheduler`. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Fresh lowercase UUIDs, for shares of devices. */
  readonly newId: () => string;
  /** Between 0 and 1: breaks ties between equally good nodes. */
  readonly random: () => number;
  readonly features: Features;
  /** Profiles, plugins and their arguments; the defaults if absent. */
  readonly configuration?: SchedulerConfiguration;
  /** Which pods are ours, by `spec.schedulerName`, where no configuration says so; `default-scheduler` if absent. */
  readonly name?: string;
  /** Plugins besides the default ones. Without a configuration they come after those at each extension point. */
  readonly plugins?: (handle: PluginHandle) => readonly Plugin[];
  /** Milliseconds from any point on, for metrics; those of this process if absent. */
  readonly elapsed?: () => number;
  /** Ends the scheduler. */
  readonly signal: AbortSignal;
}

export interface Scheduler {
  /** Resolves when the signal has aborted and the bindings begun are done. */
  readonly stopped: Promise<void>;
  /** How many pods wait, by the reason why (metric scheduler_pending_pods). */
  pending(): Record<string, number>;
  /** In the text format of Prometheus, under the names of kube-scheduler. */
  metrics(): string;
}

/** What all profiles share. */
interface Shared {
  readonly configuration: SchedulerConfiguration;
  readonly metrics: SchedulerMetrics;
  readonly extenders: Extenders;
  readonly claims: ClaimWriter;
  readonly informers: Informers;
  readonly groups: PodGroups;
  readonly pending: PendingAllocations;
  /** By profile. */
  readonly claimMetricsOf: (profile: string) => ClaimMetrics;
  readonly allocator: Allocator;
  readonly answered: UntilAnswered;
  readonly cache: SchedulerCache;
  readonly nominator: Nominator;
  readonly waiting: WaitingPods;
  readonly turn: Turn;
  readonly executor: Pick<PreemptionExecutor, "start" | "isPreempting">;
}

/** Starts to schedule; resolves when all caches are complete and the first pods are being tried. */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { client, clock, log, features, signal } = options;
  const configuration = configurationOf(options);
  const answered = untilAnswered(clock, signal);
  const kinds = await answered(() => servedKinds(client, features, log));
  const informers = createInformers(client, kinds);
  const turn = new Turn();
  const allocator = createAllocator({
    newId: options.newId,
    evaluated: (cost) => turn.spend(cost),
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
  const shared: Shared = {
    configuration,
    metrics,
    extenders,
    claims: new ClaimWriter({
      client,
      claims: informers.claims,
      untilAnswered: answered,
      clock,
      learned: (object) => allocator.update({ kind: "claim", object, deleted: false }),
    }),
    informers,
    groups,
    pending: new PendingAllocations(allocator),
    claimMetricsOf: claimMetrics(metrics.registry, features),
    allocator,
    answered,
    cache,
    nominator,
    waiting,
    turn,
    executor: {
      start: (...args) => executor.start(...args),
      isPreempting: (uid) => executor.isPreempting(uid),
    },
  };
  const profiles = new Map(
    configuration.profiles.map((each) => [each.schedulerName, createProfile(options, each, shared)]),
  );
  const isOurs = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" && profiles.has(pod.spec.schedulerName ?? "") && isPodActive(pod);
  const profileOf = (pod: Pod): Profile => profiles.get(pod.spec.schedulerName ?? "")!;

  const queue = new SchedulingQueue({
    points: (pod) => profileOf(pod).points,
    clock,
    ready: () => loop.wake(),
    initialBackoff: configuration.podInitialBackoff,
    maxBackoff: configuration.podMaxBackoff,
    moved: (place, event) => metrics.moved(place, event),
  });
  let synced = false;
  const alike = new AlikePods({
    cache,
    claim: (namespace, claim) => shared.claims.get(namespace, claim),
    hasServedResources: (pod) =>
      features.enabled("DRAExtendedResource") && hasServedResources(pod, extendedClasses(informers)),
  });
  const notify = (event: ClusterEvent): void => {
    if (event.kind === "released") alike.clear();
    if (synced) queue.notify(event);
  };
  const status = new PodStatusWriter({ client, clock, answered, isOurs });
  const failures = new FailureHandler({ queue, nominator, status, metrics, clock, log, signal });
  const parts = {
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
  // What other people's plugins and extenders look at is not known here.
  const known = options.plugins === undefined && configuration.extenders.length === 0 ? alike : undefined;
  const groupStatus = kinds.groups && new GroupStatusWriter({ kind: kinds.groups, client, clock, answered });
  const groupCycle =
    groupStatus && new GroupCycle({ ...parts, alike: known, groups, bindings, status: groupStatus });
  const together = groupCycle && { groups: groupCycle };
  const loop = new SchedulingLoop({ ...parts, ...together, alike: known, bindings, profileOf, turn, signal });
  const track = (work: Promise<void>): void => loop.track(work);
  const executor = new PreemptionExecutor({ ...parts, client, answered, track });
  handleEvents({ informers, allocator, cache, queue, nominator, groups, waiting, isOurs, notify, log });
  alike.follow(informers);
  await startInformers(informers, signal);
  synced = true;
  // Pods that came before what they wait for.
  notify({ kind: "released" });
  loop.start();

  const stopped = new Promise<void>((resolve) => {
    const stop = async (): Promise<void> => {
      queue.close();
      waiting.close();
      await loop.settled();
      await Promise.all([...profiles.values()].map(({ recorder }) => recorder.flush()));
      resolve();
    };
    if (signal.aborted) void stop();
    else signal.addEventListener("abort", () => void stop(), { once: true });
  });
  metrics.watch(queue, cache);
  return { stopped, pending: () => queue.counts(), metrics: () => metrics.registry.text() };
}

/** One profile of that name. */
function configurationOf({ configuration, name, features }: SchedulerOptions): SchedulerConfiguration {
  if (configuration !== undefined) return configuration;
  const defaults = defaultSchedulerConfiguration(features);
  const profiles = defaults.profiles.map((profile) => (name ? { ...profile, schedulerName: name } : profile));
  return { ...defaults, profiles };
}

function createGroups(informers: Informers, cache: SchedulerCache, features: Features): PodGroups {
  return new PodGroups(
    (namespace, name) => informers.groups?.get({ namespace, name }),
    (uid) => cache.isPlaced(uid),
    features.version >= "1.37" || features.enabled("GangScheduling"),
  );
}

function createProfile(options: SchedulerOptions, configured: ProfileConfiguration, shared: Shared): Profile {
  const { client, clock, log, random } = options;
  const { schedulerName: name } = configured;
  const {
    configuration,
    cache,
    nominator,
    waiting,
    turn,
    executor,
    answered,
    informers,
    metrics,
    extenders,
  } = shared;
  const args = withoutManagedResources(configured.args, configuration);
  const nomination = (pod: Pod): string | undefined => nominator.nodeOf(pod.metadata.uid);
  const recorder = createEventRecorder({ client, clock, log, random, component: name });
  const preemption = defaultPreemption({
    args: args.DefaultPreemption,
    release: options.features.version,
    executor,
    trials: () => cycle,
    recorder,
    node: (node) => cache.node(node),
    nomination,
    budgets: () => informers.budgets.list(),
    turn,
    metrics,
    extenders,
    now: () => clock.now(),
    random,
  });
  const own = options.plugins?.({ client, clock, log, waiting }) ?? [];
  const available = [
    prioritySort,
    ...createDefaultPlugins(options, args, shared, recorder, name),
    preemption,
    ...own,
    defaultBinder(client, answered),
  ];
  const plugins =
    options.configuration === undefined ? withPlugins(configured.plugins, own) : configured.plugins;
  const points = choosePlugins(name, available, plugins);
  const percentage = configured.percentageOfNodesToScore ?? configuration.percentageOfNodesToScore;
  const cycle = new SchedulingCycle(points, {
    random,
    enough: feasibleNodesToFind(percentage),
    nominated: (node) => nominator.on(node),
    nomination,
    metrics,
    profile: name,
    extended: configuration.extenders.length > 0,
  });
  return { name, points, cycle, recorder };
}

/** Resources that extenders manage alone are not counted. Upstream: scheduler.go, buildExtenders. */
function withoutManagedResources(args: PluginArgs, { extenders }: SchedulerConfiguration): PluginArgs {
  const managed = extenders.flatMap(({ managedResources }) =>
    managedResources.flatMap(({ name, ignoredByScheduler }) => (ignoredByScheduler ? [name] : [])),
  );
  const { ignoredResources, ...fit } = args.NodeResourcesFit;
  return { ...args, NodeResourcesFit: { ...fit, ignoredResources: [...ignoredResources, ...managed] } };
}

/** The caller's own plugins after the default ones, but before the one that binds any pod. */
function withPlugins(plugins: ProfilePlugins, own: readonly Plugin[]): ProfilePlugins {
  const { enabled, disabled } = plugins.multiPoint;
  const last = ({ name }: EnabledPlugin): boolean => name === "DefaultBinder";
  const all = [...enabled.filter((each) => !last(each)), ...own, ...enabled.filter(last)];
  return { ...plugins, multiPoint: { enabled: all, disabled } };
}

const extendedClasses =
  ({ classes }: Informers): ExtendedClass =>
  (resource) =>
    preferredClass(classes.byIndex("resource", resource));

function createDefaultPlugins(
  { client, clock, random, features, newId, signal }: SchedulerOptions,
  args: PluginArgs,
  { informers, allocator, groups, claims, pending, claimMetricsOf, answered }: Shared,
  recorder: EventRecorder,
  profile: string,
): readonly Plugin[] {
  const { classes, namespaces } = informers;
  return defaultPlugins({
    features,
    metrics: claimMetricsOf(profile),
    event: (pod, reason, message) => recorder.event(pod, "Normal", reason, message),
    allocator,
    claims,
    pending,
    ...(informers.groups && { groups }),
    deviceClass: (className) => classes.get({ name: className }),
    ...(features.enabled("DRAExtendedResource") && { extendedClass: extendedClasses(informers) }),
    newId,
    volumes: {
      lookup: volumeLookup(informers),
      writer: volumeWriter({
        client,
        clock,
        untilAnswered: answered,
        volumes: informers.volumes,
        claims: informers.volumeClaims,
        pods: informers.pods,
        signal,
      }),
    },
    args,
    ...args.DynamicResources,
    workloads: {
      services: (namespace) => informers.services.byIndex("namespace", namespace),
      replicationController: (namespace, owner) =>
        informers.replicationControllers.get({ namespace, name: owner }),
      replicaSet: (namespace, owner) => informers.replicaSets.get({ namespace, name: owner }),
      statefulSet: (namespace, owner) => informers.statefulSets.get({ namespace, name: owner }),
    },
    namespaceLabels: (namespace) => namespaces.get({ name: namespace })?.metadata.labels,
    now: () => clock.now(),
    random,
  });
}
