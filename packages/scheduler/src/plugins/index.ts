import type { Plugin } from "../framework.ts";
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

export interface PluginOptions extends DynamicResourcesOptions {
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
    interPodAffinity(options.namespaceLabels),
    dynamicResources(options),
    nodeResourcesBalancedAllocation,
  ];
}
