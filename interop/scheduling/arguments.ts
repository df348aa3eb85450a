import { defaultPluginArgs, type PluginArgs } from "../../packages/scheduler/src/plugins/args.ts";
import type { Maker } from "./objects.ts";

/** Arguments that change scores and filters: those of one cluster. */
export function randomArgs(make: Maker): PluginArgs {
  if (make.chance(0.3)) return defaultPluginArgs;
  const weights = (...names: string[]) => names.map((name) => ({ name, weight: make.int(1, 5) }));
  const type = make.pick(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] as const);
  const shape = [
    { utilization: 0, score: make.int(0, 10) },
    { utilization: make.int(20, 70), score: make.int(0, 10) },
    { utilization: 100, score: make.int(0, 10) },
  ];
  const spreadsByList = make.chance(0.5);
  const matchExpressions = [{ key: "disk", operator: "In", values: ["ssd"] }];
  const preferred = [{ weight: make.int(1, 100), preference: { matchExpressions } }];
  const nodeSelectorTerms = [{ matchExpressions: [{ key: "size", operator: "Gt", values: ["1"] }] }];
  return {
    ...defaultPluginArgs,
    NodeResourcesFit: {
      ignoredResources: make.some(["example.com/gpu"], 0.3),
      ignoredResourceGroups: [],
      scoringStrategy: {
        type,
        resources: weights("cpu", "memory", ...make.some(["example.com/gpu", "ephemeral-storage"], 0.5)),
        ...(type === "RequestedToCapacityRatio" && { requestedToCapacityRatio: { shape } }),
      },
    },
    NodeResourcesBalancedAllocation: {
      resources: ["cpu", "memory", ...make.some(["example.com/gpu", "ephemeral-storage"], 0.5)].map(
        (name) => ({
          name,
          weight: 1,
        }),
      ),
    },
    InterPodAffinity: {
      hardPodAffinityWeight: make.pick([0, 1, 50]),
      ignorePreferredTermsOfExistingPods: make.chance(0.5),
    },
    NodeAffinity: {
      addedAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
        ...(make.chance(0.3) && { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }),
      },
    },
    PodTopologySpread: {
      defaultingType: spreadsByList ? "List" : "System",
      defaultConstraints: spreadsByList
        ? [
            {
              maxSkew: make.int(1, 3),
              topologyKey: "topology.kubernetes.io/zone",
              whenUnsatisfiable: make.pick(["DoNotSchedule", "ScheduleAnyway"]),
            },
          ]
        : [],
    },
  };
}

/** The configuration file of kube-scheduler with these arguments. */
export function configuration(kubeconfig: string, args: PluginArgs): object {
  const { DefaultPreemption: _p, DynamicResources: _d, VolumeBinding: _v, ...own } = args;
  return {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig },
    leaderElection: { leaderElect: false },
    profiles: [
      {
        schedulerName: "default-scheduler",
        pluginConfig: Object.entries(own).map(([name, of]) => ({
          name,
          args: { apiVersion: "kubescheduler.config.k8s.io/v1", kind: `${name}Args`, ...of },
        })),
      },
    ],
  };
}
