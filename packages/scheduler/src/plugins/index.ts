import type { Features } from "@dray/api";
import { defaultPluginArgs, type PluginArgs } from "../config/plugin-args.ts";
import type { Plugin } from "../framework/framework.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";
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
}

/**
 * Creates the plugins that Dray has, in the order in which each extension point calls them. A profile has
 * those that its configuration enables: config/default-plugins.ts says which by default.
 * Upstream: pkg/scheduler/framework/plugins/registry.go
 */
export function createPlugins(options: PluginOptions): readonly Plugin[] {
  const { features, args = defaultPluginArgs } = options;
  const totals = deviceTotals(options);
  return [
    schedulingGates,
    nodeName,
    nodeUnschedulable,
    taintToleration,
    nodeAffinity(args.NodeAffinity),
    nodePorts,
    nodeResourcesFit(args.NodeResourcesFit, features.version, options.extendedClass, totals),
    ...volumePlugins(options),
    podTopologySpread(args.PodTopologySpread, options.workloads),
    interPodAffinity(args.InterPodAffinity, options.namespaceLabels),
    new DynamicResources({ ...args.DynamicResources, ...options }),
    nodeResourcesBalancedAllocation(args.NodeResourcesBalancedAllocation, features.version, totals),
    imageLocality(),
    nodeDeclaredFeatures(features),
    ...(options.groups === undefined ? [] : groupPlugins(options.groups, features)),
  ];
}

function groupPlugins(groups: PodGroups, features: Features): readonly Plugin[] {
  const topology = features.enabled("TopologyAwareWorkloadScheduling")
    ? [topologyPlacement(groups), podGroupPodsCount(groups)]
    : [];
  return [new GangScheduling(groups), ...topology];
}

function deviceTotals({ allocator, extendedClass }: PluginOptions): DeviceTotals | undefined {
  if (extendedClass === undefined) return undefined;
  return ({ node }, resource) => {
    const deviceClass = extendedClass(resource);
    return deviceClass && allocator.totals(node, deviceClass.metadata.name);
  };
}

function volumePlugins({ features, volumes, args = defaultPluginArgs }: PluginOptions): readonly Plugin[] {
  if (volumes === undefined) return [];
  const { lookup, writer } = volumes;
  return [
    volumeRestrictions(lookup),
    nodeVolumeLimits(lookup, features),
    volumeBinding({ lookup, writer, args: args.VolumeBinding, features }),
    volumeZone(lookup),
  ];
}
