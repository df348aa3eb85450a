import type { Pod } from "@dray/api/core/v1";
import {
  extensionPointNames,
  type PluginSet,
  type ProfileConfiguration,
  type ProfilePlugins,
  type SchedulerConfiguration,
} from "../config/types.ts";
import { SchedulingCycle } from "../cycle/scheduling-cycle.ts";
import { type ExtensionPoints, extensionPoints } from "../framework/extension-points.ts";
import type { Plugin } from "../framework/framework.ts";
import type { PluginArgs } from "../plugins/args.ts";
import { createPlugins, defaultPlugins, type PluginOptions } from "../plugins/registry.ts";
import { choosePlugins } from "../profile/choose-plugins.ts";
import { withoutManagedResources } from "../profile/create-profile.ts";

/** How pods of one `spec.schedulerName` are scheduled. */
export interface OfflineProfile {
  readonly name: string;
  readonly points: ExtensionPoints;
  readonly cycle: SchedulingCycle;
}

/** The profile of a pod: that of its scheduler, otherwise the default one, otherwise the first. */
export type ProfileOf = (pod: Pod) => OfflineProfile;

const defaultName = "default-scheduler";

/** Creates the profiles of a configuration; without one a single profile of the default plugins. */
export function offlineProfiles(
  configuration: SchedulerConfiguration | undefined,
  options: PluginOptions,
): ProfileOf {
  if (configuration === undefined) {
    const plugins = createPlugins(options);
    const only = profileOf(
      defaultName,
      extensionPoints(plugins, () => defaultPlugins),
    );
    return () => only;
  }
  const profiles = new Map(
    configuration.profiles.map((each) => [
      each.schedulerName,
      configuredProfile(configuration, each, options),
    ]),
  );
  // A configuration has at least one profile.
  const fallback = profiles.get(defaultName) ?? [...profiles.values()][0]!;
  return ({ spec }) => profiles.get(spec.schedulerName ?? defaultName) ?? fallback;
}

function profileOf(name: string, points: ExtensionPoints): OfflineProfile {
  const cycle = new SchedulingCycle(points, { random: () => 0, enough: (nodes) => nodes });
  return { name, points, cycle };
}

function configuredProfile(
  configuration: SchedulerConfiguration,
  { schedulerName, args, plugins }: ProfileConfiguration,
  options: PluginOptions,
): OfflineProfile {
  const own: PluginArgs = withoutManagedResources(args, configuration);
  const available = createPlugins({
    ...options,
    ...own.DynamicResources,
    args: own,
    binder: unusedBinder,
    preemption: unusedPreemption,
  });
  return profileOf(schedulerName, choosePlugins(schedulerName, available, withOnly(plugins, available)));
}

/** A decision needs no binding, but a profile needs a plugin for it. */
const unusedBinder: Plugin = { name: "DefaultBinder", bind: async () => true, mayHelp: () => false };
/** Nothing is preempted. */
const unusedPreemption: Plugin = {
  name: "DefaultPreemption",
  postFilter: () => ({}),
  mayHelp: () => false,
};

/** Leaves out plugins that do not exist offline: those of volumes, and those of other programs. */
function withOnly(plugins: ProfilePlugins, available: readonly Plugin[]): ProfilePlugins {
  const names = new Set(available.map(({ name }) => name));
  const kept = ({ enabled, disabled }: PluginSet): PluginSet => ({
    enabled: enabled.filter(({ name }) => names.has(name)),
    disabled,
  });
  const sets = (["multiPoint", ...extensionPointNames] as const).map((point) => [
    point,
    kept(plugins[point]),
  ]);
  return { ...(Object.fromEntries(sets) as ProfilePlugins), ...replaced };
}

const only = (name: string): PluginSet => ({ enabled: [{ name }], disabled: ["*"] });
/** The order of the pods is the caller's, and nothing is bound: these may be plugins of another program. */
const replaced: Pick<ProfilePlugins, "queueSort" | "bind"> = {
  queueSort: only("PrioritySort"),
  bind: only("DefaultBinder"),
};

const isKnown = (name: string): boolean => defaultPlugins.some((each) => each.name === name);

/**
 * Returns the parts of a configuration that have no effect offline: plugins of other programs, and extenders.
 */
export function ignoredParts({ profiles, extenders }: SchedulerConfiguration): string[] {
  const plugins = profiles.flatMap(({ schedulerName, plugins: all }) => {
    const names = Object.values(all).flatMap(({ enabled }) => enabled.map(({ name }) => name));
    const unknown = [...new Set(names.filter((name) => !isKnown(name)))];
    return unknown.map((name) => `plugin ${name} of profile ${schedulerName}`);
  });
  return [...plugins, ...extenders.map(({ urlPrefix }) => `extender ${urlPrefix}`)];
}
