import type { NodeAffinity, TopologySpreadConstraint } from "@dray/api/core/v1";

/** One point of a scoring function: between two points it is linear. */
export interface ShapePoint {
  /** 0 to 100. */
  readonly utilization: number;
  /** 0 to 10. */
  readonly score: number;
}

export interface ResourceWeight {
  readonly name: string;
  /** 1 to 100. */
  readonly weight: number;
}

export interface ScoringStrategy {
  readonly type: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  readonly resources: readonly ResourceWeight[];
  readonly requestedToCapacityRatio?: { readonly shape: readonly ShapePoint[] };
}

/**
 * Arguments of the plugins of a profile, by plugin name, with defaults filled in; times in milliseconds.
 * Upstream: kube-scheduler/config/v1/types_pluginargs.go.
 */
export interface PluginArgs {
  readonly DefaultPreemption: {
    readonly minCandidateNodesPercentage: number;
    readonly minCandidateNodesAbsolute: number;
  };
  readonly DynamicResources: {
    /** Maximum time of the search on one node; 0: no limit. */
    readonly filterTimeout: number;
    /** Maximum time for devices to become ready (KEP-5007). */
    readonly bindingTimeout: number;
  };
  readonly InterPodAffinity: {
    readonly hardPodAffinityWeight: number;
    readonly ignorePreferredTermsOfExistingPods: boolean;
  };
  readonly NodeAffinity: { readonly addedAffinity?: NodeAffinity };
  readonly NodeResourcesBalancedAllocation: { readonly resources: readonly ResourceWeight[] };
  readonly NodeResourcesFit: {
    readonly ignoredResources: readonly string[];
    readonly ignoredResourceGroups: readonly string[];
    readonly scoringStrategy: ScoringStrategy;
  };
  readonly PodTopologySpread: {
    readonly defaultingType: "System" | "List";
    readonly defaultConstraints: readonly TopologySpreadConstraint[];
  };
  readonly VolumeBinding: {
    readonly bindTimeout: number;
    /** How a node scores by the share of its volumes that a pod would use (gate StorageCapacityScoring). */
    readonly shape: readonly ShapePoint[];
  };
}

const cpuAndMemory: readonly ResourceWeight[] = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];

/** Upstream: pkg/scheduler/apis/config/v1/defaults.go. */
export const defaultPluginArgs: PluginArgs = {
  DefaultPreemption: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
  DynamicResources: { filterTimeout: 10_000, bindingTimeout: 600_000 },
  InterPodAffinity: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false },
  NodeAffinity: {},
  NodeResourcesBalancedAllocation: { resources: cpuAndMemory },
  NodeResourcesFit: {
    ignoredResources: [],
    ignoredResourceGroups: [],
    scoringStrategy: { type: "LeastAllocated", resources: cpuAndMemory },
  },
  PodTopologySpread: { defaultingType: "System", defaultConstraints: [] },
  VolumeBinding: {
    bindTimeout: 600_000,
    shape: [
      { utilization: 0, score: 10 },
      { utilization: 100, score: 0 },
    ],
  },
};
