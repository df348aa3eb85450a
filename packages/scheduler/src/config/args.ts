import type { Features } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import { defaultPluginArgs, type PluginArgs, type ResourceWeight, type ShapePoint } from "../plugins/args.ts";
import { readConstraint, readNodeAffinity } from "./affinity.ts";
import type { Fields } from "./fields.ts";

type Readers = {
  readonly [Name in keyof PluginArgs]: (fields: Fields, features: Features) => PluginArgs[Name];
};

/**
 * The arguments of each plugin, checked as upstream does: apis/config/validation/validation_pluginargs.go.
 */
const readers: Readers = {
  DefaultPreemption(fields) {
    const defaults = defaultPluginArgs.DefaultPreemption;
    const percentage = fields.integer("minCandidateNodesPercentage") ?? defaults.minCandidateNodesPercentage;
    const absolute = fields.integer("minCandidateNodesAbsolute") ?? defaults.minCandidateNodesAbsolute;
    const ofPercentage = fields.errors.at("minCandidateNodesPercentage");
    const ofAbsolute = fields.errors.at("minCandidateNodesAbsolute");
    checkRange(ofPercentage, percentage, 0, 100);
    if (absolute < 0) ofAbsolute.invalid(absolute, "not in valid range [0, inf)");
    if (percentage === 0 && absolute === 0) {
      const both = "cannot be zero at the same time as";
      ofPercentage.invalid(percentage, `${both} minCandidateNodesAbsolute`);
      ofAbsolute.invalid(absolute, `${both} minCandidateNodesPercentage`);
    }
    return { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute };
  },

  DynamicResources(fields, features) {
    const defaults = defaultPluginArgs.DynamicResources;
    const { errors } = fields;
    const filterTimeout = fields.duration("filterTimeout");
    const bindingTimeout = fields.duration("bindingTimeout");
    if (filterTimeout !== undefined && !features.enabled("DRASchedulerFilterTimeout"))
      errors.at("filterTimeout").forbidden("DRASchedulingFilterTimeout feature gate is disabled");
    else if (filterTimeout !== undefined && filterTimeout < 0)
      errors.at("filterTimeout").invalid(`${filterTimeout / 1000}s`, "must be zero or positive");
    const binds =
      features.enabled("DRADeviceBindingConditions") && features.enabled("DRAResourceClaimDeviceStatus");
    if (bindingTimeout !== undefined && !binds)
      fields.errors
        .at("bindingTimeout")
        .forbidden("DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled");
    else if (bindingTimeout !== undefined && bindingTimeout < 1000)
      errors.at("bindingTimeout").invalid(`${bindingTimeout / 1000}s`, "must be at least 1 second");
    return {
      filterTimeout: filterTimeout ?? defaults.filterTimeout,
      bindingTimeout: bindingTimeout ?? defaults.bindingTimeout,
    };
  },

  InterPodAffinity(fields) {
    const defaults = defaultPluginArgs.InterPodAffinity;
    const hardPodAffinityWeight = fields.integer("hardPodAffinityWeight") ?? defaults.hardPodAffinityWeight;
    checkRange(fields.errors.at("hardPodAffinityWeight"), hardPodAffinityWeight, 0, 100);
    const ignore = fields.boolean("ignorePreferredTermsOfExistingPods");
    return { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods: ignore ?? false };
  },

  NodeAffinity(fields) {
    const added = fields.object("addedAffinity");
    return added === undefined ? {} : { addedAffinity: readNodeAffinity(added) };
  },

  NodeResourcesBalancedAllocation(fields) {
    const seen = new Set<string>();
    const resources = readResources(fields, (errors, { name, weight }) => {
      if (seen.has(name)) errors.at("name").duplicate(name);
      seen.add(name);
      if (weight !== 1) errors.at("weight").invalid(weight, "must be 1");
    });
    return { resources: resources ?? defaultPluginArgs.NodeResourcesBalancedAllocation.resources };
  },

  NodeResourcesFit(fields) {
    const ignoredResources = fields.strings("ignoredResources") ?? [];
    const ignoredResourceGroups = fields.strings("ignoredResourceGroups") ?? [];
    ignoredResourceGroups.forEach((group, i) => {
      if (group.includes("/"))
        fields.errors
          .at("ignoredResourceGroups")
          .index(i)
          .invalid(group, "resource group name can't contain '/'");
    });
    const strategy = fields.object("scoringStrategy");
    return {
      ignoredResources,
      ignoredResourceGroups,
      scoringStrategy: strategy ? readStrategy(strategy) : defaultPluginArgs.NodeResourcesFit.scoringStrategy,
    };
  },

  PodTopologySpread(fields) {
    const constraints = fields.objects("defaultConstraints")?.map(readConstraint) ?? [];
    const defaultingType = fields.choice("defaultingType", ["System", "List"]) ?? "System";
    if (defaultingType === "System" && constraints.length > 0)
      fields.errors.at("defaultingType").invalid(defaultingType, "when .defaultConstraints are not empty");
    const seen = new Set<string>();
    constraints.forEach(({ topologyKey, whenUnsatisfiable }, i) => {
      const key = `{${topologyKey}, ${whenUnsatisfiable}}`;
      if (seen.has(key)) fields.errors.at("defaultConstraints").index(i).duplicate(key);
      seen.add(key);
    });
    return { defaultingType, defaultConstraints: constraints };
  },

  VolumeBinding(fields) {
    const seconds =
      fields.integer("bindTimeoutSeconds") ?? defaultPluginArgs.VolumeBinding.bindTimeout / 1000;
    if (seconds < 0)
      fields.errors
        .at("bindTimeoutSeconds")
        .invalid(seconds, "invalid BindTimeoutSeconds, should not be a negative value");
    if (fields.objects("shape") !== undefined)
      fields.errors
        .at("shape")
        .forbidden("unexpected field `shape`, remove it: the feature gate StorageCapacityScoring is off");
    return { ...defaultPluginArgs.VolumeBinding, bindTimeout: seconds * 1000 };
  },
};

/** `fields` are those of `pluginConfig[].args`; undefined where the plugin has no arguments. */
export function readArgs<Name extends keyof PluginArgs>(
  plugin: Name,
  fields: Fields,
  features: Features,
): PluginArgs[Name] {
  fields.choice("apiVersion", ["kubescheduler.config.k8s.io/v1"]);
  fields.choice("kind", [`${plugin}Args`]);
  const args = readers[plugin](fields, features);
  fields.end();
  return args;
}

export function hasArgs(plugin: string): plugin is keyof PluginArgs {
  return Object.hasOwn(readers, plugin);
}

function readStrategy(fields: Fields): PluginArgs["NodeResourcesFit"]["scoringStrategy"] {
  const { errors } = fields;
  const types = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] as const;
  if (!fields.has("type")) errors.at("type").notSupported("", types);
  const type = fields.choice("type", types) ?? "LeastAllocated";
  const resources = readResources(fields, (errors, { name, weight }) => {
    if (weight <= 0 || weight > 100)
      errors.at("weight").invalid(weight, `resource weight of ${name} not in valid range (0, 100]`);
  });
  const ratio = fields.object("requestedToCapacityRatio");
  const shape = ratio && readShape(ratio);
  ratio?.end();
  fields.end();
  const ratioErrors = errors.at("requestedToCapacityRatio");
  const wanted = type === "RequestedToCapacityRatio";
  if (wanted && ratio === undefined)
    ratioErrors.required("must be specified when type is RequestedToCapacityRatio");
  if (!wanted && ratio !== undefined)
    ratioErrors.forbidden("must be nil when type is not RequestedToCapacityRatio");
  return {
    type,
    resources: resources ?? defaultPluginArgs.NodeResourcesFit.scoringStrategy.resources,
    ...(shape && { requestedToCapacityRatio: { shape } }),
  };
}

/** Undefined for none: then the default ones count. A weight of 0 is one of 1. */
function readResources(
  fields: Fields,
  check: (errors: FieldErrors, resource: ResourceWeight) => void,
): readonly ResourceWeight[] | undefined {
  const resources = fields.objects("resources")?.map((each) => {
    const resource = { name: each.string("name") ?? "", weight: each.integer("weight") || 1 };
    each.end();
    check(each.errors, resource);
    return resource;
  });
  return resources?.length === 0 ? undefined : resources;
}

function readShape(fields: Fields): readonly ShapePoint[] {
  const { errors } = fields;
  const points = fields.objects("shape") ?? [];
  if (points.length === 0) errors.at("shape").required("at least one point must be specified");
  const shape: ShapePoint[] = [];
  for (const point of points) {
    const utilization = point.integer("utilization") ?? 0;
    const score = point.integer("score") ?? 0;
    point.end();
    const before = shape.at(-1);
    if (before !== undefined && before.utilization >= utilization)
      point.errors.at("utilization").invalid(utilization, "values must be sorted in increasing order");
    checkRange(point.errors.at("utilization"), utilization, 0, 100);
    checkRange(point.errors.at("score"), score, 0, 10);
    shape.push({ utilization, score });
  }
  return shape;
}

function checkRange(errors: FieldErrors, value: number, low: number, high: number): void {
  if (value < low || value > high) errors.invalid(value, `not in valid range [${low}, ${high}]`);
}
