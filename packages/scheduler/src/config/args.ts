import type { Features } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import { readConstraint, readNodeAffinity } from "./affinity.ts";
import type { Fields } from "./fields.ts";
import { defaultPluginArgs, type PluginArgs, type ResourceWeight, type ShapePoint } from "./plugin-args.ts";

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
    const [percentagePath, absolutePath] = [
      fields.pathOf("minCandidateNodesPercentage"),
      fields.pathOf("minCandidateNodesAbsolute"),
    ];
    const { errors } = fields;
    checkRange(errors, percentagePath, percentage, 0, 100);
    if (absolute < 0) errors.invalid(absolutePath, absolute, "not in valid range [0, inf)");
    if (percentage === 0 && absolute === 0) {
      const both = "cannot be zero at the same time as";
      errors.invalid(percentagePath, percentage, `${both} minCandidateNodesAbsolute`);
      errors.invalid(absolutePath, absolute, `${both} minCandidateNodesPercentage`);
    }
    return { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute };
  },

  DynamicResources(fields, features) {
    const defaults = defaultPluginArgs.DynamicResources;
    const { errors } = fields;
    const filterTimeout = fields.duration("filterTimeout");
    const bindingTimeout = fields.duration("bindingTimeout");
    if (filterTimeout !== undefined && !features.enabled("DRASchedulerFilterTimeout"))
      errors.forbidden(fields.pathOf("filterTimeout"), "DRASchedulingFilterTimeout feature gate is disabled");
    else if (filterTimeout !== undefined && filterTimeout < 0)
      errors.invalid(fields.pathOf("filterTimeout"), `${filterTimeout / 1000}s`, "must be zero or positive");
    const binds =
      features.enabled("DRADeviceBindingConditions") && features.enabled("DRAResourceClaimDeviceStatus");
    if (bindingTimeout !== undefined && !binds)
      errors.forbidden(
        fields.pathOf("bindingTimeout"),
        "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled",
      );
    else if (bindingTimeout !== undefined && bindingTimeout < 1000)
      errors.invalid(
        fields.pathOf("bindingTimeout"),
        `${bindingTimeout / 1000}s`,
        "must be at least 1 second",
      );
    return {
      filterTimeout: filterTimeout ?? defaults.filterTimeout,
      bindingTimeout: bindingTimeout ?? defaults.bindingTimeout,
    };
  },

  InterPodAffinity(fields) {
    const defaults = defaultPluginArgs.InterPodAffinity;
    const hardPodAffinityWeight = fields.integer("hardPodAffinityWeight") ?? defaults.hardPodAffinityWeight;
    checkRange(fields.errors, fields.pathOf("hardPodAffinityWeight"), hardPodAffinityWeight, 0, 100);
    const ignore = fields.boolean("ignorePreferredTermsOfExistingPods");
    return { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods: ignore ?? false };
  },

  NodeAffinity(fields) {
    const added = fields.object("addedAffinity");
    return added === undefined ? {} : { addedAffinity: readNodeAffinity(added) };
  },

  NodeResourcesBalancedAllocation(fields) {
    const seen = new Set<string>();
    const resources = readResources(fields, ({ name, weight }, path) => {
      if (seen.has(name)) fields.errors.duplicate(`${path}.name`, name);
      seen.add(name);
      if (weight !== 1) fields.errors.invalid(`${path}.weight`, weight, "must be 1");
    });
    return { resources: resources ?? defaultPluginArgs.NodeResourcesBalancedAllocation.resources };
  },

  NodeResourcesFit(fields) {
    const { errors } = fields;
    const ignoredResources = fields.strings("ignoredResources") ?? [];
    const ignoredResourceGroups = fields.strings("ignoredResourceGroups") ?? [];
    ignoredResourceGroups.forEach((group, i) => {
      if (group.includes("/"))
        errors.invalid(
          `${fields.pathOf("ignoredResourceGroups")}[${i}]`,
          group,
          "resource group name can't contain '/'",
        );
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
    const path = fields.pathOf("defaultConstraints");
    if (defaultingType === "System" && constraints.length > 0)
      fields.errors.invalid(
        fields.pathOf("defaultingType"),
        defaultingType,
        "when .defaultConstraints are not empty",
      );
    const seen = new Set<string>();
    constraints.forEach(({ topologyKey, whenUnsatisfiable }, i) => {
      const key = `{${topologyKey}, ${whenUnsatisfiable}}`;
      if (seen.has(key)) fields.errors.duplicate(`${path}[${i}]`, key);
      seen.add(key);
    });
    return { defaultingType, defaultConstraints: constraints };
  },

  VolumeBinding(fields) {
    const seconds =
      fields.integer("bindTimeoutSeconds") ?? defaultPluginArgs.VolumeBinding.bindTimeout / 1000;
    if (seconds < 0)
      fields.errors.invalid(
        fields.pathOf("bindTimeoutSeconds"),
        seconds,
        "invalid BindTimeoutSeconds, should not be a negative value",
      );
    if (fields.objects("shape") !== undefined)
      fields.errors.forbidden(
        fields.pathOf("shape"),
        "unexpected field `shape`, remove it: the feature gate StorageCapacityScoring is off",
      );
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
  if (!fields.has("type")) errors.notSupported(fields.pathOf("type"), "", types);
  const type = fields.choice("type", types) ?? "LeastAllocated";
  const resources = readResources(fields, ({ name, weight }, path) => {
    if (weight <= 0 || weight > 100)
      errors.invalid(`${path}.weight`, weight, `resource weight of ${name} not in valid range (0, 100]`);
  });
  const ratio = fields.object("requestedToCapacityRatio");
  const shape = ratio && readShape(ratio);
  ratio?.end();
  fields.end();
  const ratioPath = fields.pathOf("requestedToCapacityRatio");
  const wanted = type === "RequestedToCapacityRatio";
  if (wanted && ratio === undefined)
    errors.required(ratioPath, "must be specified when type is RequestedToCapacityRatio");
  if (!wanted && ratio !== undefined)
    errors.forbidden(ratioPath, "must be nil when type is not RequestedToCapacityRatio");
  return {
    type,
    resources: resources ?? defaultPluginArgs.NodeResourcesFit.scoringStrategy.resources,
    ...(shape && { requestedToCapacityRatio: { shape } }),
  };
}

/** Undefined for none: then the default ones count. A weight of 0 is one of 1. */
function readResources(
  fields: Fields,
  check: (resource: ResourceWeight, path: string) => void,
): readonly ResourceWeight[] | undefined {
  const resources = fields.objects("resources")?.map((each) => {
    const resource = { name: each.string("name") ?? "", weight: each.integer("weight") || 1 };
    each.end();
    check(resource, each.path);
    return resource;
  });
  return resources?.length === 0 ? undefined : resources;
}

function readShape(fields: Fields): readonly ShapePoint[] {
  const { errors } = fields;
  const points = fields.objects("shape") ?? [];
  if (points.length === 0) errors.required(fields.pathOf("shape"), "at least one point must be specified");
  const shape: ShapePoint[] = [];
  for (const point of points) {
    const utilization = point.integer("utilization") ?? 0;
    const score = point.integer("score") ?? 0;
    point.end();
    const before = shape.at(-1);
    if (before !== undefined && before.utilization >= utilization)
      errors.invalid(point.pathOf("utilization"), utilization, "values must be sorted in increasing order");
    checkRange(errors, point.pathOf("utilization"), utilization, 0, 100);
    checkRange(errors, point.pathOf("score"), score, 0, 10);
    shape.push({ utilization, score });
  }
  return shape;
}

function checkRange(errors: FieldErrors, path: string, value: number, low: number, high: number): void {
  if (value < low || value > high) errors.invalid(path, value, `not in valid range [${low}, ${high}]`);
}
