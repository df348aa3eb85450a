/**
 * The workloads of upstream's scheduler_perf for DRA, by its names (test/integration/scheduler_perf/dra): how
 * many pods with claims get nodes in a second, on nodes that nothing runs on.
 */
import {
  claim,
  claimTemplate,
  deviceClass,
  driver,
  type Made,
  namespace,
  node,
  nodeName,
  pod,
  podGroup,
  podWithClaim,
  podWithTemplate,
  range,
  resource,
  testClassName,
} from "./objects.ts";
import {
  allocation,
  backtrackingPartitions,
  basicAllocation,
  basicSlice,
  listAttributes,
  networkDevice,
  partitions,
  shares,
} from "./slices.ts";

/** A workload as `interop/clients/scheduling` reads it. */
export interface Workload {
  /** Made in this order, those of one stage at once. */
  readonly stages: readonly (readonly Made[])[];
  /** Nodes whose leases are renewed. */
  readonly nodes: readonly string[];
  /** In it `{i}`, `{i/N}` and `{i%N}` stand for numbers. */
  readonly pod: object;
  readonly warm: number;
  /** Number of measured pods: created at once, or kept at this number for `seconds`. */
  readonly pods: number;
  readonly seconds: number;
  /** Made in the measured time before the pods, and counted in their place. */
  readonly published: readonly Made[];
}

export interface Scenario {
  readonly name: string;
  readonly nodes: number;
  /** Feature gates that the release does not have on. */
  readonly gates?: readonly string[];
  /** Versions of APIs that are not served by default. */
  readonly versions?: readonly string[];
  /** The objects that are counted; pods if absent. */
  readonly unit?: "pod" | "slice";
  readonly make: (nodes: number) => Workload;
}

const one = { name: "req-0", exactly: { deviceClassName: testClassName } };

interface Plan {
  readonly slices: (i: number) => readonly Made[];
  /** `spec.devices` of the template of claims. */
  readonly devices?: object;
  readonly expression?: string;
  readonly more?: readonly Made[];
  /** Claims that are allocated already. */
  readonly init?: readonly Made[];
  readonly pod?: object;
  readonly warm?: number;
  readonly pods: number;
  readonly seconds?: number;
  /** The slices are published in the measured time. */
  readonly publish?: true;
}

function workload(nodes: number, plan: Plan): Workload {
  const { slices, devices = { requests: [one] }, more = [], init = [], publish } = plan;
  const account = {
    path: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } },
  };
  const space = {
    path: "/api/v1/namespaces",
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  };
  const published = range(nodes, slices).flat();
  return {
    stages: [
      [space],
      [account, deviceClass(testClassName, plan.expression), claimTemplate(devices)],
      range(nodes, node),
      publish ? [] : published,
      [...init, ...more],
    ],
    nodes: range(nodes, nodeName),
    pod: plan.pod ?? podWithTemplate,
    warm: plan.warm ?? 0,
    pods: plan.pods,
    seconds: plan.seconds ?? 0,
    published: publish ? published : [],
  };
}

const steady = { warm: 200, pods: 10, seconds: 10 };

/** Claims that hold basic devices, the first ones of all nodes before the second ones. */
const heldDevices = (count: number, nodes: number): Made[] =>
  range(count, (i) =>
    claim(
      `init-claim-${i}`,
      { requests: [one] },
      { allocation: basicAllocation(i % nodes, Math.floor(i / nodes)) },
    ),
  );

const requestOf = (count: number, more: object = {}): object => ({
  requests: [{ name: "req-0", exactly: { deviceClassName: testClassName, count, ...more } }],
});

/** Claims that hold these devices of the first nodes. */
const heldNodes = (count: number, devices: readonly string[]): Made[] =>
  range(count, (i) =>
    claim(`init-claim-${i}`, requestOf(devices.length), { allocation: allocation(i, devices) }),
  );

const fills = ["empty", "half", "full"] as const;

/** One pod fits onto one node, and ten nodes stay free where the cluster is full. */
const byNode = (
  name: string,
  slices: (i: number) => readonly Made[],
  held: readonly string[],
  gates: readonly string[] = [],
): Scenario[] =>
  fills.map((fill, k) => ({
    name: `${name} ${fill}`,
    nodes: 500,
    gates,
    make: (nodes) =>
      workload(nodes, {
        slices,
        devices: requestOf(held.length),
        init: heldNodes([0, nodes / 2, nodes - 10][k]!, held),
        ...steady,
      }),
  }));

const podGroupGates = ["GenericWorkload", "DRAWorkloadResourceClaims"];
const podGroupVersions = ["scheduling.k8s.io/v1beta1"];
const groups = 100;

/** 100 groups of 50 pods, each with one claim for all of its pods. */
const inGroups = (name: string, source: object, policy: object, claims: readonly Made[] = []): Scenario => ({
  name,
  nodes: 50,
  gates: podGroupGates,
  versions: podGroupVersions,
  make: (nodes) =>
    workload(nodes, {
      slices: (i) => range(groups / nodes, (k) => networkDevice(i + k * nodes)).flat(),
      more: claims,
      init: range(groups, (i) => podGroup(i, numberedSource(source, `${i}`), policy)),
      pod: podWithClaim(numberedSource(source, `{i%${groups}}`), {
        schedulingGroup: { podGroupName: `test-dra-{i%${groups}}` },
      }),
      pods: groups * 50,
    }),
});

/** The source of a claim with `#` replaced. */
const numberedSource = (source: object, number: string): object =>
  Object.fromEntries(Object.entries(source).map(([key, value]) => [key, String(value).replace("#", number)]));

const templateSource = { resourceClaimTemplateName: "test-claim-template" };

const scheduling = (name: string, nodes: number, devices: number, pods: number): Scenario => ({
  name,
  nodes,
  make: () =>
    workload(nodes, {
      slices: basicSlice(devices),
      init: heldDevices(2500, nodes),
      warm: 200,
      pods: pods - 200,
    }),
});

const tainted: Made = {
  path: `${resource}/devicetaintrules`,
  object: {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceTaintRule",
    metadata: { name: "taint-all-devices" },
    spec: {
      deviceSelector: { driver },
      taint: { key: "example.com/taint", value: "tainted", effect: "NoSchedule" },
    },
  },
};

const firstAvailable = {
  requests: [
    {
      name: "req-0",
      firstAvailable: [
        { name: "sub-0", deviceClassName: "no-devices-class" },
        { name: "sub-1", deviceClassName: testClassName },
      ],
    },
  ],
};

const publishing = (nodes: number): Scenario => ({
  name: `PublishResourceSlices ${nodes} nodes`,
  nodes,
  unit: "slice",
  // The one pod is for the last node: it has its node when all slices have reached the scheduler.
  make: () =>
    workload(nodes, {
      slices: basicSlice(10),
      publish: true,
      pod: podWithClaim(templateSource, {
        nodeSelector: { "kubernetes.io/hostname": nodeName(nodes - 1) },
      }),
      pods: 1,
    }),
});

export const scenarios: readonly Scenario[] = [
  publishing(500),
  publishing(5000),
  scheduling("SchedulingWithResourceClaimTemplate 500 nodes", 500, 10, 2500),
  scheduling("SchedulingWithResourceClaimTemplate 5000 nodes", 5000, 8, 2500),
  ...fills.map((fill, k) => ({
    name: `SteadyStateClusterResourceClaimTemplate ${fill}`,
    nodes: 500,
    make: (nodes: number) =>
      workload(nodes, {
        slices: basicSlice(10),
        init: heldDevices([0, nodes * 5, nodes * 10 - 10][k]!, nodes),
        ...steady,
      }),
  })),
  {
    name: "SchedulingWithResourceClaim",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: basicSlice(10),
        // Five pods share a claim.
        init: range(500, (i) => claim(`test-claim-${i}`, { requests: [one] })),
        pod: podWithClaim({ resourceClaimName: "test-claim-{i/5}" }),
        pods: 2500,
      }),
  },
  {
    name: "FirstAvailable",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: basicSlice(10),
        more: [deviceClass("no-devices-class", 'device.driver == "no-such-driver.cdi.k8s.io"')],
        devices: firstAvailable,
        warm: 200,
        pods: 1000,
      }),
  },
  {
    name: "DeviceTaintToleration",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: basicSlice(10),
        more: [tainted],
        devices: requestOf(1, { tolerations: [{ key: "example.com/taint", operator: "Exists" }] }),
        warm: 200,
        pods: 1000,
      }),
  },
  ...byNode("Partitionable", partitions(), ["device-1", "device-2"]),
  ...byNode(
    "PartitionableBacktracking",
    backtrackingPartitions,
    range(7, (k) => `device-${k + 2}`),
  ),
  ...byNode(
    "CompatibilityGroups",
    partitions("mig"),
    ["device-1", "device-2"],
    ["DRADeviceCompatibilityGroups"],
  ),
  {
    name: "ConsumableCapacity",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: shares,
        expression: `device.driver == "${driver}" && device.allowMultipleAllocations == true`,
        devices: {
          ...requestOf(2, { capacity: { requests: { bandwidth: "2500M" } } }),
          constraints: [{ requests: ["req-0"], distinctAttribute: "dra.example.com/index" }],
        },
        ...steady,
      }),
  },
  {
    name: "ListAttributes",
    nodes: 500,
    gates: ["DRAListTypeAttributes"],
    make: (nodes) =>
      workload(nodes, {
        slices: listAttributes,
        devices: {
          requests: range(32, (k) => ({ ...one, name: `req-${k}` })),
          constraints: [{ matchAttribute: "dra.example.com/match" }],
        },
        ...steady,
        pods: 500,
      }),
  },
  {
    name: "ExtendedResource 25 classes",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: basicSlice(10),
        more: range(25, (k) =>
          deviceClass(`test-class-${k}`, undefined, { extendedResourceName: `example.com/gpu-${k}` }),
        ),
        pod: pod({}, { resources: { limits: { "example.com/gpu-{i%25}": "1" } } }),
        warm: 200,
        pods: 2300,
      }),
  },
  {
    name: "ExtendedResource one of 10 classes",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: basicSlice(10),
        more: range(10, (k) =>
          deviceClass(`scoring-test-class-${k}`, undefined, { extendedResourceName: "example.com/gpu" }),
        ),
        pod: pod({}, { resources: { limits: { "example.com/gpu": "1" } } }),
        warm: 200,
        pods: 2300,
      }),
  },
  inGroups(
    "SharedPodGroupResourceClaim",
    { resourceClaimName: "test-claim-#" },
    { basic: {} },
    range(groups, (i) => claim(`test-claim-${i}`, { requests: [one] })),
  ),
  inGroups("SharedPodGroupResourceClaimTemplate", templateSource, { basic: {} }),
  // Upstream has no gangs with claims: 50 pods that get nodes together.
  inGroups("SharedPodGroupResourceClaimTemplate gangs", templateSource, { gang: { minCount: 50 } }),
];
