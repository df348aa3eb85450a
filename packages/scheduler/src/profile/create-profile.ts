import type { Pod } from "@dray/api/core/v1";
import { createEventRecorder, type EventRecorder } from "@dray/client";
import type {
  EnabledPlugin,
  ProfileConfiguration,
  ProfilePlugins,
  SchedulerConfiguration,
} from "../config/types.ts";
import { feasibleNodesToFind } from "../cycle/feasible-nodes.ts";
import type { Profile } from "../cycle/profile.ts";
import { SchedulingCycle } from "../cycle/scheduling-cycle.ts";
import type { Plugin } from "../framework/framework.ts";
import type { PluginArgs } from "../plugins/args.ts";
import { defaultBinder } from "../plugins/default-binder.ts";
import { createPlugins, type PluginOptions } from "../plugins/registry.ts";
import { volumeWriter } from "../plugins/volume-binding/writer.ts";
import { defaultPreemption } from "../preemption/default-preemption.ts";
import { volumeLookup } from "../shared/informers.ts";
import type { SchedulerOptions } from "../shared/options.ts";
import { extendedClasses, type Shared } from "../shared/shared.ts";
import { choosePlugins } from "./choose-plugins.ts";

/** The plugins of a profile, with its arguments, and the cycle that asks them. Throws ProfileError. */
export function createProfile(
  options: SchedulerOptions,
  configured: ProfileConfiguration,
  shared: Shared,
): Profile {
  const { client, clock, log, random } = options;
  const { schedulerName: name } = configured;
  const {
    configuration,
    cache,
    nominator,
    waiting,
    budget,
    executor,
    informers,
    metrics,
    extenders,
    groups,
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
    cache,
    hasGroupPolicies: options.features.enabled("PodGroupPreemptionPolicy"),
    // In 1.36 pods of groups leave one by one.
    groups: informers.groups && options.features.version >= "1.37" ? groups : undefined,
    nomination,
    budgets: () => informers.budgets.list(),
    budget,
    metrics,
    extenders,
    now: () => clock.now(),
    random,
  });
  const own = options.plugins?.({ client, clock, log, waiting }) ?? [];
  const available = [
    ...createPlugins({ ...defaultPluginOptions(options, { name, args, shared, recorder }), preemption }),
    ...own,
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
    leftOut({ node }, error) {
      log.error(
        { node: node.metadata.name, err: error },
        "a node is left out: it has an object that cannot be read",
      );
      recorder.event(node, "Warning", "NodeLeftOut", leftOutText(error));
    },
  });
  return { name, points, cycle, recorder };
}

const leftOutText = ({ message }: Error): string =>
  `The scheduler cannot read this node, or a pod or device on it (${message}): no pod is placed here until the object has changed. The scheduler's log has the place; please report it.`;

/** Resources that extenders manage alone are not counted. Upstream: scheduler.go, buildExtenders. */
export function withoutManagedResources(
  args: PluginArgs,
  { extenders }: Pick<SchedulerConfiguration, "extenders">,
): PluginArgs {
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

interface ProfileParts {
  readonly name: string;
  readonly args: PluginArgs;
  readonly shared: Shared;
  readonly recorder: EventRecorder;
}

function defaultPluginOptions(
  { client, clock, random, features, newId, signal }: SchedulerOptions,
  { name, args, shared, recorder }: ProfileParts,
): PluginOptions {
  const { informers, allocator, groups, claims, pending, claimMetricsOf, retry } = shared;
  const { classes, namespaces } = informers;
  return {
    features,
    binder: defaultBinder(client, retry),
    metrics: claimMetricsOf(name),
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
        retryUnanswered: retry,
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
  };
}
