import type { Features } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import { defaultPluginArgs, type PluginArgs } from "../plugins/args.ts";
import { hasArgs, readArgs } from "./args.ts";
import { defaultMultiPoint, emptySet, mergePluginSet, removedPlugins } from "./default-plugins.ts";
import { Fields } from "./fields.ts";
import {
  apiVersion,
  type ExtensionPointName,
  extensionPointNames,
  kind,
  type PluginSet,
  type ProfileConfiguration,
  type ProfilePlugins,
} from "./types.ts";

const defaultSchedulerName = "default-scheduler";

export function checkPercentage(errors: FieldErrors, percentage: number): void {
  if (percentage < 0 || percentage > 100) errors.invalid(percentage, "not in valid range [0-100]");
}

export function readProfiles(fields: Fields, features: Features): readonly ProfileConfiguration[] {
  const { errors } = fields;
  const given = fields.objects("profiles") ?? [];
  const list = given.length === 0 ? [new Fields({}, errors.at("profiles").index(0))] : given;
  const profiles = list.map((profile) => readProfile(profile, list.length === 1, features));
  profiles.forEach(({ schedulerName, plugins }, i) => {
    const first = profiles.findIndex((other) => other.schedulerName === schedulerName);
    if (first < i && schedulerName !== "")
      errors.at("profiles").index(i).at("schedulerName").duplicate(schedulerName);
    // One queue holds the pods of all profiles.
    if (JSON.stringify(plugins.queueSort) !== JSON.stringify(profiles[0]!.plugins.queueSort))
      errors
        .at("profiles")
        .index(i)
        .at("plugins.queueSort")
        .invalid(plugins.queueSort, "must be the same for all profiles");
  });
  if ((profiles[0]?.plugins.queueSort.enabled.length ?? 0) > 1)
    errors
      .at("profiles")
      .index(0)
      .at("plugins.queueSort.enabled")
      .invalid(profiles[0]!.plugins.queueSort.enabled.length, "only one queue sort plugin can be enabled");
  return profiles;
}

function readProfile(fields: Fields, only: boolean, features: Features): ProfileConfiguration {
  const { errors } = fields;
  const schedulerName = fields.string("schedulerName") ?? (only ? defaultSchedulerName : "");
  if (schedulerName === "") errors.at("schedulerName").required();
  const percentage = fields.integer("percentageOfNodesToScore");
  if (percentage !== undefined) checkPercentage(errors.at("percentageOfNodesToScore"), percentage);
  const plugins = readPlugins(fields.object("plugins"));
  const args = readPluginConfig(fields, features);
  fields.end();
  return {
    schedulerName,
    args,
    plugins,
    ...(percentage !== undefined && { percentageOfNodesToScore: percentage }),
  };
}

function readPlugins(fields: Fields | undefined): ProfilePlugins {
  const read = (point: ExtensionPointName | "multiPoint"): PluginSet =>
    mergePluginSet(point === "multiPoint" ? defaultMultiPoint : emptySet, readSet(fields?.object(point)));
  const plugins = Object.fromEntries(
    (["multiPoint", ...extensionPointNames] as const).map((point) => [point, read(point)]),
  ) as ProfilePlugins;
  fields?.end();
  return plugins;
}

function readSet(fields: Fields | undefined): PluginSet {
  const read = (name: "enabled" | "disabled") =>
    (fields?.objects(name) ?? []).map((each) => {
      const weight = each.integer("weight");
      const plugin = { name: each.string("name") ?? "", ...(weight !== undefined && { weight }) };
      each.end();
      if (plugin.name === "") each.errors.at("name").required();
      if (name === "enabled" && removedPlugins.has(plugin.name))
        each.errors.invalid(
          plugin.name,
          `was invalid in version "${apiVersion}" (${kind} is version "${apiVersion}")`,
        );
      return plugin;
    });
  const set = { enabled: read("enabled"), disabled: read("disabled").map(({ name }) => name) };
  fields?.end();
  return set;
}

function readPluginConfig(fields: Fields, features: Features): PluginArgs {
  const args: { -readonly [Name in keyof PluginArgs]: PluginArgs[Name] } = { ...defaultPluginArgs };
  const seen = new Set<string>();
  for (const entry of fields.objects("pluginConfig") ?? []) {
    const name = entry.string("name") ?? "";
    if (name === "") entry.errors.at("name").required();
    else if (seen.has(name)) entry.errors.duplicate(name);
    seen.add(name);
    const given = entry.object("args");
    if (given !== undefined) {
      if (hasArgs(name)) Object.assign(args, { [name]: readArgs(name, given, features) });
      // The arguments of other programs' plugins are theirs.
      else if (defaultMultiPoint.enabled.some((plugin) => plugin.name === name))
        entry.errors.at("args").forbidden(`plugin ${name} has no arguments`);
    }
    entry.end();
  }
  return args;
}
