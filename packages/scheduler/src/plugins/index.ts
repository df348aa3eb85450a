import type { Plugin } from "../framework.ts";
import type { PluginArgs } from "../plugin-args.ts";
import { type DynamicResourcesOptions, dynamicResources } from "./dynamic-resources.ts";
import { interPodAffinity } from "./inter-pod-affinity.ts";
import {
  nodeAffinity,
  nodePorts,
  nodeUnschedulable,
  schedulingGates,
  taintToleration,
} from "./node-basics.ts";
import { nodeResourcesBalancedAllocation, nodeResourcesFit } from "./node-resources.ts";
import { type VolumeLookup, volumeBinding } from "./volume-binding.ts";

export interface PluginOptions extends DynamicResourcesOptions {
  /** Absent where volumes are not looked at. */
  readonly volumes?: VolumeLookup;
  /** Arguments of the profile; `defaultPluginArgs` if absent. */
  readonly args?: PluginArgs;
  readonly namespaceLabels: (name: string) => Readonly<Record<string, string>> | undefined;
}

/** The plugins of the default profile, in the order in which each extension point calls them. */
export function defaultPlugins(options: PluginOptions): readonly Plugin[] {
  return [
    schedulingGates,
    nodeUnschedulable,
    taintToleration,
    nodeAffinity,
    nodePorts,
    nodeResourcesFit(options.extendedClass),
    ...(options.volumes === undefined ? [] : [volumeBinding(options.volumes)]),
    interPodAffinity(options.namespaceLabels),
    dynamicResources(options),
    nodeResourcesBalancedAllocation,
  ];
}
