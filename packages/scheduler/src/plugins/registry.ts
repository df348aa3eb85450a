import type { Features } from "@dray/api";
import type { Plugin } from "../framework/framework.ts";
import { defaultPluginArgs, type PluginArgs } from "./args.ts";
import type { DynamicResourcesOptions } from "./dynamic-resources/options.ts";
import { DynamicResources } from "./dynamic-resources/plugin.ts";
import { GangScheduling } from "./gang-scheduling.ts";
import type { VolumeLookup } from "./helper/volume-lookup.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinity } from "./inter-pod-affinity/plugin.ts";
import type { NamespaceLabels } from "./inter-pod-affinity/terms.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeDeclaredFeatures } from "./node-declared-features.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./node-resources/balanced-allocation.ts";
import { nodeResourcesFit } from "./node-resources/fit.ts";
import type { DeviceTotals } from "./node-resources/scoring.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { nodeVolumeLimits } from "./node-volume-limits.ts";
import { podGroupPodsCount } from "./pod-group-pods-count.ts";
import type { WorkloadLookup } from "./pod-topology-spread/constraints.ts";
import { podTopologySpread } from "./pod-topology-spread/plugin.ts";
import { prioritySort } from "./priority-sort.ts";
import { schedulingGates } from "./scheduling-gates.ts";
import { taintToleration } from "./taint-toleration.ts";
import { topologyPlacement } from "./topology-placement.ts";
import { volumeBinding } from "./volume-binding/plugin.ts";
import type { VolumeWriter } from "./volume-binding/writer.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

export interface PluginOptions extends DynamicResourcesOptions {
  readonly features: Features;
  /** Absent without volumes. */
  readonly volumes?: { readonly lookup: VolumeLookup; readonly writer: VolumeWriter };
  /** Arguments of the profile; `defaultPluginArgs` if absent. */
  readonly args?: PluginArgs;
  readonly namespaceLabels: NamespaceLabels;
  /** Absent where pods without constraints are not spread. */
  readonly workloads?: WorkloadLookup;
  /** Absent without a cluster, as is `binder`. */
  readonly preemption?: Plugin;
  readonly binder?: Plugin;
}

/** A plugin that every profile has unless its configuration disables it. */
interface DefaultPlugin {
  readonly name: string;
  /** Weight of its score. */
  readonly weight?: number;
  /** Returns undefined if the release or the options lack the plugin. */
  create(options: PluginOptions): Plugin | undefined;
}

/**
 * The default plugins, in the order in which each extension point calls them. DynamicResources comes before
 * DefaultPreemption: an idle claim is freed before pods are evicted.
 *
 * Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, getDefaultPlugins.
 */
export const defaultPlugins: readonly DefaultPlugin[] = [
  { name: "SchedulingGates", create: () => schedulingGates },
  { name: "PrioritySort", create: () => prioritySort },
  { name: "NodeName", create: () => nodeName },
  { name: "NodeUnschedulable", create: () => nodeUnschedulable },
  { name: "TaintToleration", weight: 3, create: () => taintToleration },
  { name: "NodeAffinity", weight: 2, create: (options) => nodeAffinity(argsOf(options).NodeAffinity) },
  { name: "NodePorts", create: () => nodePorts },
  {
    name: "NodeResourcesFit",
    weight: 1,
    create: (options) =>
      nodeResourcesFit(
        argsOf(options).NodeResourcesFit,
        options.features.version,
        options.extendedClass,
        deviceTotals(options),
      ),
  },
  { name: "VolumeRestrictions", create: ({ volumes }) => volumes && volumeRestrictions(volumes.lookup) },
  {
    name: "NodeVolumeLimits",
    create: ({ volumes, features }) => volumes && nodeVolumeLimits(volumes.lookup, features),
  },
  {
    name: "VolumeBinding",
    create: (options) =>
      options.volumes &&
      volumeBinding({
        ...options.volumes,
        args: argsOf(options).VolumeBinding,
        features: options.features,
      }),
  },
  { name: "VolumeZone", create: ({ volumes }) => volumes && volumeZone(volumes.lookup) },
  {
    name: "PodTopologySpread",
    weight: 2,
    create: (options) => podTopologySpread(argsOf(options).PodTopologySpread, options.workloads),
  },
  {
    name: "InterPodAffinity",
    weight: 2,
    create: (options) => interPodAffinity(argsOf(options).InterPodAffinity, options.namespaceLabels),
  },
  {
    name: "DynamicResources",
    weight: 2,
    create: (options) => new DynamicResources({ ...argsOf(options).DynamicResources, ...options }),
  },
  { name: "DefaultPreemption", create: ({ preemption }) => preemption },
  {
    name: "NodeResourcesBalancedAllocation",
    weight: 1,
    create: (options) =>
      nodeResourcesBalancedAllocation(
        argsOf(options).NodeResourcesBalancedAllocation,
        options.features.version,
        deviceTotals(options),
      ),
  },
  { name: "ImageLocality", weight: 1, create: () => imageLocality() },
  { name: "DefaultBinder", create: ({ binder }) => binder },
  { name: "NodeDeclaredFeatures", create: ({ features }) => nodeDeclaredFeatures(features) },
  { name: "GangScheduling", create: ({ groups }) => groups && new GangScheduling(groups) },
  {
    name: "TopologyPlacementGenerator",
    create: ({ groups, features }) => withTopology(features) && groups && topologyPlacement(groups),
  },
  {
    name: "PodGroupPodsCount",
    weight: 1,
    create: ({ groups, features }) => withTopology(features) && groups && podGroupPodsCount(groups),
  },
];

/** Creates the default plugins that the release and the options have. */
export function createPlugins(options: PluginOptions): readonly Plugin[] {
  return defaultPlugins.flatMap(({ create }) => create(options) ?? []);
}

const argsOf = ({ args }: PluginOptions): PluginArgs => args ?? defaultPluginArgs;

/** Returns undefined if groups have no constraints of topology. */
function withTopology(features: Features): true | undefined {
  return features.enabled("TopologyAwareWorkloadScheduling") || undefined;
}

function deviceTotals({ allocator, extendedClass }: PluginOptions): DeviceTotals | undefined {
  if (extendedClass === undefined) return undefined;
  return ({ node }, resource) => {
    const deviceClass = extendedClass(resource);
    return deviceClass && allocator.totals(node, deviceClass.metadata.name);
  };
}
