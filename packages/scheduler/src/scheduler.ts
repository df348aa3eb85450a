import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { type Client, type Clock, createEventRecorder, type Log } from "@dray/client";
import { type UntilAnswered, untilAnswered } from "./answered.ts";
import { BindingCycle } from "./binding.ts";
import { SchedulerCache } from "./cache.ts";
import { SchedulingCycle } from "./cycle.ts";
import { handleEvents } from "./event-handlers.ts";
import { extensionPoints } from "./extension-points.ts";
import { FailureHandler } from "./failure.ts";
import type { ClusterEvent, Plugin } from "./framework.ts";
import { createInformers, type Informers, startInformers } from "./informers.ts";
import { SchedulingLoop } from "./loop.ts";
import { Nominator } from "./nominator.ts";
import { ClaimWriter } from "./plugins/claim-writer.ts";
import { defaultBinder } from "./plugins/default-binder.ts";
import { preferredClass } from "./plugins/extended-resources.ts";
import { defaultPlugins } from "./plugins/index.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { PodStatusWriter } from "./pod-status.ts";
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
  /** Which pods are ours, by `spec.schedulerName`; `default-scheduler` if absent. */
  readonly name?: string;
  /** Plugins besides the default ones; they come after those at each extension point. */
  readonly plugins?: (handle: PluginHandle) => readonly Plugin[];
  /** Ends the scheduler. */
  readonly signal: AbortSignal;
}

export interface Scheduler {
  /** Resolves when the signal has aborted and the bindings begun are done. */
  readonly stopped: Promise<void>;
  /** How many pods wait, by the reason why (metric scheduler_pending_pods). */
  pending(): Record<string, number>;
}

/** Starts to schedule; resolves when all caches are complete and the first pods are being tried. */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { client, clock, log, random, features, signal } = options;
  const name = options.name ?? "default-scheduler";
  const answered = untilAnswered(clock, signal);
  const informers = createInformers(client, features);
  const turn = new Turn();
  const allocator = createAllocator({
    newId: options.newId,
    evaluated: (cost) => turn.spend(cost),
    features: allocatorFeatures(features),
  });
  const waiting = new WaitingPods(clock);
  const nominator = new Nominator();
  const plugins = createPlugins(options, { informers, allocator, answered, waiting });
  const points = extensionPoints(plugins);
  const profile: Profile = {
    name,
    points,
    cycle: new SchedulingCycle(points, {
      random,
      nominated: (node) => nominator.on(node),
      nomination: (pod) => nominator.nodeOf(pod.metadata.uid),
    }),
    recorder: createEventRecorder({ client, clock, log, random, component: name }),
  };
  const isOurs = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" && pod.spec.schedulerName === name && isPodActive(pod);

  const cache = new SchedulerCache(features.version);
  const queue = new SchedulingQueue({ points: () => points, clock, ready: () => loop.wake() });
  let synced = false;
  const notify = (event: ClusterEvent): void => {
    if (synced) queue.notify(event);
  };
  const status = new PodStatusWriter({ client, clock, answered, isOurs });
  const failures = new FailureHandler({ queue, nominator, status, clock, log, signal });
  const bindings = new BindingCycle({
    cache,
    queue,
    nominator,
    waiting,
    status,
    failures,
    notify,
    clock,
    log,
  });
  const loop = new SchedulingLoop({
    queue,
    cache,
    bindings,
    failures,
    profileOf: () => profile,
    turn,
    clock,
    log,
    signal,
  });
  handleEvents({ informers, allocator, cache, queue, nominator, isOurs, notify });
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
      await profile.recorder.flush();
      resolve();
    };
    if (signal.aborted) void stop();
    else signal.addEventListener("abort", () => void stop(), { once: true });
  });
  return { stopped, pending: () => queue.counts() };
}

interface PluginParts {
  readonly informers: Informers;
  readonly allocator: Allocator;
  readonly answered: UntilAnswered;
  readonly waiting: WaitingPods;
}

function createPlugins(
  { client, clock, log, random, features, newId, plugins }: SchedulerOptions,
  { informers, allocator, answered, waiting }: PluginParts,
): readonly Plugin[] {
  const { claims, classes, volumeClaims, volumes, storageClasses, namespaces } = informers;
  const defaults = defaultPlugins({
    allocator,
    claims: new ClaimWriter({
      client,
      claims,
      untilAnswered: answered,
      clock,
      learned: (object) => allocator.update({ kind: "claim", object, deleted: false }),
    }),
    deviceClass: (className) => classes.get({ name: className }),
    ...(features.enabled("DRAExtendedResource") && {
      extendedClass: (resource: string) => preferredClass(classes.byIndex("resource", resource)),
    }),
    newId,
    volumes: {
      claim: (namespace, claim) => volumeClaims.get({ namespace, name: claim }),
      volume: (volume) => volumes.get({ name: volume }),
      storageClass: (storageClass) => storageClasses.get({ name: storageClass }),
    },
    namespaceLabels: (namespace) => namespaces.get({ name: namespace })?.metadata.labels,
    now: () => clock.now(),
    random,
  });
  return [
    prioritySort,
    ...defaults,
    ...(plugins?.({ client, clock, log, waiting }) ?? []),
    defaultBinder(client, answered),
  ];
}
