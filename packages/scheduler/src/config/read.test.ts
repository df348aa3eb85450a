import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { parseYAML } from "@dray/api/yaml";
import { ConfigurationError, readSchedulerConfiguration, type SchedulerConfiguration } from "@dray/scheduler";
import { defaultPluginArgs } from "../plugins/args.ts";

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const read = (yaml: string, version?: "1.34"): SchedulerConfiguration =>
  readSchedulerConfiguration(parseYAML(head + yaml).value, featuresOf(version));
const problems = (yaml: string, version?: "1.34"): readonly string[] => {
  try {
    read(yaml, version);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems;
  }
  return [];
};

test("an empty configuration has the defaults of kube-scheduler", () => {
  const { profiles, extenders, ...rest } = read("");
  assert.deepEqual(rest, {
    percentageOfNodesToScore: 0,
    podInitialBackoff: 1_000,
    podMaxBackoff: 10_000,
    leaderElection: {
      leaderElect: true,
      leaseDuration: 15_000,
      renewDeadline: 10_000,
      retryPeriod: 2_000,
      resourceName: "kube-scheduler",
      resourceNamespace: "kube-system",
    },
  });
  assert.deepEqual(extenders, []);
  assert.equal(profiles.length, 1);
  assert.equal(profiles[0]!.schedulerName, "default-scheduler");
  assert.deepEqual(profiles[0]!.args, defaultPluginArgs);
});

/** From upstream's documentation. */
const documented = `
parallelism: 8
percentageOfNodesToScore: 50
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 60
clientConnection: {kubeconfig: /etc/scheduler.conf, qps: 20.5, burst: 40, contentType: application/json}
leaderElection: {leaderElect: false, leaseDuration: 1m30s}
profiles:
- schedulerName: packing
  percentageOfNodesToScore: 10
  plugins:
    multiPoint:
      enabled: [{name: TaintToleration, weight: 7}, {name: Mine}]
      disabled: [{name: NodeAffinity}]
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit, weight: 5}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      ignoredResources: [example.com/foo]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}, {name: example.com/gpu}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: pool, operator: In, values: [a]}]
  - {name: DynamicResources, args: {filterTimeout: 2s, bindingTimeout: 20m}}
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 7}}
  - {name: VolumeBinding, args: {bindTimeoutSeconds: 9}}
  - {name: DefaultPreemption, args: {minCandidateNodesAbsolute: 5}}
- schedulerName: spreading
extenders:
- urlPrefix: http://127.0.0.1:8080/scheduler
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 2
  httpTimeout: 250ms
  nodeCacheCapable: true
  ignorable: true
  managedResources: [{name: example.com/fpga, ignoredByScheduler: true}]
`;

test("profiles and arguments of upstream's documentation are read", () => {
  const configuration = read(documented);
  const [packing, spreading] = configuration.profiles;
  assert.equal(configuration.kubeconfig, "/etc/scheduler.conf");
  assert.equal(configuration.leaderElection.leaseDuration, 90_000);
  assert.equal(packing?.percentageOfNodesToScore, 10);
  const multiPoint = packing!.plugins.multiPoint.enabled;
  // A default plugin that is configured anew keeps its place.
  assert.deepEqual(
    [...multiPoint.slice(3, 6), multiPoint.at(-1)],
    [
      { name: "NodeUnschedulable" },
      { name: "TaintToleration", weight: 7 },
      { name: "NodePorts" },
      { name: "Mine" },
    ],
  );
  assert.deepEqual(packing!.plugins.score, {
    enabled: [{ name: "NodeResourcesFit", weight: 5 }],
    disabled: ["*"],
  });
  assert.deepEqual(packing!.args.NodeResourcesFit, {
    ignoredResources: ["example.com/foo"],
    ignoredResourceGroups: [],
    scoringStrategy: {
      type: "RequestedToCapacityRatio",
      resources: [
        { name: "cpu", weight: 3 },
        { name: "example.com/gpu", weight: 1 },
      ],
      requestedToCapacityRatio: {
        shape: [
          { utilization: 0, score: 0 },
          { utilization: 100, score: 10 },
        ],
      },
    },
  });
  assert.deepEqual(packing!.args.DynamicResources, { filterTimeout: 2_000, bindingTimeout: 1_200_000 });
  assert.equal(packing!.args.VolumeBinding.bindTimeout, 9_000);
  assert.deepEqual(packing!.args.DefaultPreemption, {
    minCandidateNodesPercentage: 10,
    minCandidateNodesAbsolute: 5,
  });
  assert.deepEqual(spreading!.args, defaultPluginArgs);
});

test("extenders of upstream's documentation are read", () => {
  assert.deepEqual(read(documented).extenders, [
    {
      urlPrefix: "http://127.0.0.1:8080/scheduler",
      filterVerb: "filter",
      prioritizeVerb: "prioritize",
      weight: 2,
      enableHTTPS: false,
      httpTimeout: 250,
      nodeCacheCapable: true,
      ignorable: true,
      managedResources: [{ name: "example.com/fpga", ignoredByScheduler: true }],
    },
  ]);
});

/**
 * Values and texts: pkg/scheduler/apis/config/validation of 1.37.1, but for fields and types, which decoding
 * rejects there.
 */
const bad: readonly (readonly [string, string])[] = [
  ["parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"],
  ["parallelism: many", 'parallelism: Invalid value: "many": must be a whole number of 32 bits'],
  ["parallelism: 1.5", "parallelism: Invalid value: 1.5: must be a whole number of 32 bits"],
  [
    "percentageOfNodesToScore: 101",
    "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
  ],
  ["podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"],
  [
    "podInitialBackoffSeconds: 20",
    "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
  ],
  ["profiles: {}", "profiles: Invalid value: {}: must be a list"],
  ["profiles: [a]", 'profiles[0]: Invalid value: "a": must be an object'],
  ["profiles: [{schedulerName: a}, {schedulerName: a}]", 'profiles[1].schedulerName: Duplicate value: "a"'],
  ["profiles: [{schedulerName: a}, {}]", "profiles[1].schedulerName: Required value"],
  [
    "profiles: [{plugins: {filters: {}}}]",
    "profiles[0].plugins.filters: Forbidden: unknown field; fields are bind, filter, multiPoint, permit, placementGenerate, placementScore, podGroupPostFilter, postBind, postFilter, preBind, preEnqueue, preFilter, preScore, queueSort, reserve, score",
  ],
  [
    "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weights: 1}]}}}]",
    "profiles[0].plugins.score.enabled[0].weights: Forbidden: unknown field; fields are name, weight",
  ],
  [
    "profiles: [{plugins: {score: {enabled: [{}]}}}]",
    "profiles[0].plugins.score.enabled[0].name: Required value",
  ],
  [
    "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
    'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "kubescheduler.config.k8s.io/v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
  ],
  [
    "profiles: [{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]",
    "profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled",
  ],
  [
    "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: A}]}}}]",
    'profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"A"}],"disabled":[]}: must be the same for all profiles',
  ],
  [
    "profiles: [{pluginConfig: [{name: NodePorts, args: {a: 1}}]}]",
    "profiles[0].pluginConfig[0].args: Forbidden: plugin NodePorts has no arguments",
  ],
  ["profiles: [{pluginConfig: [{name: A}, {name: A}]}]", 'profiles[0].pluginConfig[1]: Duplicate value: "A"'],
  [
    "leaderElection: {resourceLock: endpoints}",
    'leaderElection.resourceLock: Unsupported value: "endpoints": supported values: "leases"',
  ],
  [
    "leaderElection: {leaseDuration: 5s}",
    'leaderElection.leaseDuration: Invalid value: "10s": LeaseDuration must be greater than RenewDeadline',
  ],
  [
    "leaderElection: {retryPeriod: 2}",
    'leaderElection.retryPeriod: Invalid value: 2: must be a duration such as "10s" or "1m30s"',
  ],
  [
    "leaderElection: {retryPeriod: 2x}",
    'leaderElection.retryPeriod: Invalid value: "2x": must be a duration such as "10s": time: unknown unit "x" in duration "2x"',
  ],
  [
    "extenders: [{urlPrefix: 'http://e', prioritizeVerb: p}]",
    "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
  ],
  [
    "extenders: [{urlPrefix: 'http://e', bindVerb: b}, {urlPrefix: 'http://e', bindVerb: b}]",
    'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
  ],
  [
    "extenders: [{urlPrefix: 'http://e', managedResources: [{name: cpu}]}]",
    'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
  ],
  [
    "extenders: [{urlPrefix: e}]",
    'extenders[0].urlPrefix: Invalid value: "e": must be a URL such as http://127.0.0.1:8080/scheduler',
  ],
];

test("errors name the path, the value and the accepted values", () => {
  for (const [yaml, problem] of bad) assert.deepEqual(problems(yaml), [problem], yaml);
});

/** By plugin: its arguments, and the problem below `profiles[0].pluginConfig[0].args`. */
const badArgs: readonly (readonly [string, string, string])[] = [
  [
    "DefaultPreemption",
    "{minCandidateNodesPercentage: 120}",
    "minCandidateNodesPercentage: Invalid value: 120: not in valid range [0, 100]",
  ],
  [
    "DefaultPreemption",
    "{minCandidateNodesAbsolute: -1}",
    "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
  ],
  [
    "InterPodAffinity",
    "{hardPodAffinityWeight: 101}",
    "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
  ],
  [
    "InterPodAffinity",
    "{kind: NodeAffinityArgs}",
    'kind: Unsupported value: "NodeAffinityArgs": supported values: "InterPodAffinityArgs"',
  ],
  [
    "NodeResourcesBalancedAllocation",
    "{resources: [{name: cpu, weight: 2}]}",
    "resources[0].weight: Invalid value: 2: must be 1",
  ],
  [
    "NodeResourcesFit",
    "{ignoredResourceGroups: [a/b]}",
    "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'",
  ],
  [
    "NodeResourcesFit",
    "{scoringStrategy: {type: Random}}",
    'scoringStrategy.type: Unsupported value: "Random": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
  ],
  [
    "NodeResourcesFit",
    "{scoringStrategy: {type: RequestedToCapacityRatio}}",
    "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio",
  ],
  [
    "NodeResourcesFit",
    "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}",
    "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
  ],
  [
    "NodeResourcesFit",
    "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 5, score: 1}, {utilization: 5, score: 2}]}}}",
    "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: values must be sorted in increasing order",
  ],
  [
    "PodTopologySpread",
    "{defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}",
    'defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
  ],
  [
    "PodTopologySpread",
    "{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}",
    "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
  ],
  [
    "PodTopologySpread",
    "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: z}]}",
    "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
  ],
  [
    "NodeAffinity",
    "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}",
    "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
  ],
  [
    "VolumeBinding",
    "{bindTimeoutSeconds: -1}",
    "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
  ],
  [
    "DynamicResources",
    "{filterTimeout: -1s}",
    'filterTimeout: Invalid value: "-1s": must be zero or positive',
  ],
  [
    "DynamicResources",
    "{bindingTimeout: 500ms}",
    'bindingTimeout: Invalid value: "0.5s": must be at least 1 second',
  ],
  [
    "DynamicResources",
    "{timeout: 1s}",
    "timeout: Forbidden: unknown field; fields are apiVersion, bindingTimeout, filterTimeout, kind",
  ],
];

test("arguments of plugins are checked", () => {
  for (const [plugin, args, problem] of badArgs) {
    const yaml = `profiles: [{pluginConfig: [{name: ${plugin}, args: ${args}}]}]`;
    assert.deepEqual(problems(yaml), [`profiles[0].pluginConfig[0].args.${problem}`], yaml);
  }
});

test("a timeout of a feature that is off is an error, as upstream says", () => {
  assert.deepEqual(
    problems("profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 5s}}]}]", "1.34"),
    [
      "profiles[0].pluginConfig[0].args.bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled",
    ],
  );
});

test("rejects another kind and a document that is not an object", () => {
  const reading = (document: unknown) => () => readSchedulerConfiguration(document, featuresOf());
  assert.throws(
    reading({ apiVersion: "kubescheduler.config.k8s.io/v1beta3", kind: "KubeSchedulerConfiguration" }),
    /^ConfigurationError: apiVersion: Unsupported value: "kubescheduler.config.k8s.io\/v1beta3": supported values: "kubescheduler.config.k8s.io\/v1"$/,
  );
  assert.throws(reading(null), /must be an object of kind KubeSchedulerConfiguration/);
  assert.throws(reading({}), /apiVersion: Required value: must be .*\nkind: Required value/);
});
