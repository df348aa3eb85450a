/**
 * The workloads of upstream's scheduler_perf for DRA, by its names (test/integration/scheduler_perf/dra): how many pods
 * with claims get nodes in a second, on nodes that nothing runs on.
 */

/** What `interop/clients/scheduling` reads. */
export interface Workload {
  /** Made in this order, those of one stage at once. */
  readonly stages: readonly (readonly Made[])[];
  /** Nodes whose leases are renewed. */
  readonly nodes: readonly string[];
  /** In it `{i}`, `{i/N}` and `{i%N}` stand for numbers. */
  readonly pod: object;
  readonly warm: number;
  /** Number of measured pods: created at once, or (steady state) in each round for `seconds`. */
  readonly pods: number;
  readonly seconds: number;
}

interface Made {
  readonly path: string;
  readonly object: object;
  readonly status?: object;
}

export interface Scenario {
  readonly name: string;
  readonly nodes: number;
  /** Feature gates that the release does not have on. */
  readonly gates?: readonly string[];
  readonly make: (nodes: number) => Workload;
}

const namespace = "bench";
const driver = "test-driver.cdi.k8s.io";
const resource = "/apis/resource.k8s.io/v1";
const claims = `${resource}/namespaces/${namespace}/resourceclaims`;
const range = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const nodeName = (i: number): string => `scheduler-perf-dra-${i}`;

function node(i: number): Made {
  const amounts = { cpu: "4", memory: "32Gi", pods: "110" };
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const ready = {
    type: "Ready",
    status: "True",
    reason: "Ready",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  return {
    path: "/api/v1/nodes",
    object: {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: nodeName(i), labels: { "kubernetes.io/hostname": nodeName(i) } },
    },
    status: { status: { capacity: amounts, allocatable: amounts, conditions: [ready] } },
  };
}

/** A slice of a node's pool. */
function slice(i: number, spec: object, part = 0, count = 1): Made {
  const pool = { name: nodeName(i), generation: 1, resourceSliceCount: count };
  return {
    path: `${resource}/resourceslices`,
    object: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name: `${nodeName(i)}-${part}` },
      spec: { driver, nodeName: nodeName(i), pool, ...spec },
    },
  };
}

const device = (k: number, more: object = {}): object => ({
  name: `instance-${k}`,
  attributes: {
    model: { string: "A100" },
    family: { string: "GPU" },
    driverVersion: { version: "1.2.3" },
    "dra.example.com/numa": { int: k },
  },
  capacity: { memory: { value: "1Gi" } },
  ...more,
});

function deviceClass(name: string, expression: string, more: object = {}): Made {
  const spec = { selectors: [{ cel: { expression } }], ...more };
  return {
    path: `${resource}/deviceclasses`,
    object: { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec },
  };
}

const testClass = deviceClass("test-class", `device.driver == "${driver}"`);
const one = { name: "req-0", exactly: { deviceClassName: "test-class" } };

function template(devices: object): Made {
  return {
    path: `${resource}/namespaces/${namespace}/resourceclaimtemplates`,
    object: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name: "test-claim-template", namespace },
      spec: { spec: { devices } },
    },
  };
}

/** Claims that have the first devices of the nodes already. */
const initClaims = (count: number, nodes: number): Made[] =>
  range(count, (i) => {
    const on = nodeName(i % nodes);
    const result = { request: "req-0", driver, pool: on, device: `instance-${Math.floor(i / nodes)}` };
    const terms = [{ matchFields: [{ key: "metadata.name", operator: "In", values: [on] }] }];
    const allocation = { devices: { results: [result] }, nodeSelector: { nodeSelectorTerms: terms } };
    return {
      path: claims,
      object: {
        apiVersion: "resource.k8s.io/v1",
        kind: "ResourceClaim",
        metadata: { name: `init-claim-${i}`, namespace },
        spec: { devices: { requests: [one] } },
      },
      status: { status: { allocation } },
    };
  });

function pod(spec: object, container: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "pod-{i}", namespace },
    spec: { containers: [{ name: "pause", image: "pause", ...container }], ...spec },
  };
}

const podWithTemplate = pod(
  { resourceClaims: [{ name: "resource", resourceClaimTemplateName: "test-claim-template" }] },
  { resources: { claims: [{ name: "resource" }] } },
);

interface Plan {
  /** Slices of a node. */
  readonly slices: (i: number) => readonly Made[];
  readonly claim?: object;
  readonly more?: readonly Made[];
  readonly init?: number;
  readonly pod?: object;
  readonly warm?: number;
  readonly pods: number;
  readonly seconds?: number;
}

function workload(nodes: number, plan: Plan): Workload {
  const { slices, claim = { requests: [one] }, more = [], init = 0, pod = podWithTemplate } = plan;
  const account = {
    path: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } },
  };
  const space = {
    path: "/api/v1/namespaces",
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  };
  return {
    stages: [
      [space],
      [account, testClass, ...more],
      [template(claim), ...range(nodes, node)],
      range(nodes, slices).flat(),
      initClaims(init, nodes),
    ],
    nodes: range(nodes, nodeName),
    pod,
    warm: plan.warm ?? 0,
    pods: plan.pods,
    seconds: plan.seconds ?? 0,
  };
}

const plain = (count: number) => (i: number) => [slice(i, { devices: range(count, (k) => device(k)) })];
const steady = { pods: 10, seconds: 10, warm: 20 };

/** 4 counters, of which two devices take two and four devices one. */
const partitions = (i: number): readonly Made[] => {
  const counter = (...numbers: number[]): object => ({
    consumesCounters: [
      {
        counterSet: "set",
        counters: Object.fromEntries(numbers.map((n) => [`counter${n}`, { value: "1" }])),
      },
    ],
  });
  const sets = [
    { name: "set", counters: Object.fromEntries(range(4, (n) => [`counter${n}`, { value: "1" }])) },
  ];
  return range(20, (part) => {
    // A pool of its own for each, so that pods take two devices of one.
    const pool = { name: `${nodeName(i)}-${part}`, generation: 1, resourceSliceCount: 2 };
    const attributes = { "dra.example.com/slice": { int: part } };
    const devices = [
      ...range(2, (k) => ({ name: `double-${k}`, attributes, ...counter(2 * k, 2 * k + 1) })),
      ...range(4, (k) => ({ name: `single-${k}`, attributes, ...counter(k) })),
    ];
    return [slice(i, { pool, sharedCounters: sets }, 2 * part), slice(i, { pool, devices }, 2 * part + 1)];
  }).flat();
};

export const scenarios: readonly Scenario[] = [
  {
    name: "SchedulingWithResourceClaimTemplate",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, { slices: plain(10), init: nodes * 5, warm: 200, pods: nodes * 5 - 200 }),
  },
  ...(["empty", "half", "full"] as const).map((fill, k) => ({
    name: `SteadyStateClusterResourceClaimTemplate ${fill}`,
    nodes: 500,
    make: (nodes: number) =>
      workload(nodes, { slices: plain(10), init: [0, nodes * 5, nodes * 10 - 10][k]!, ...steady, warm: 0 }),
  })),
  {
    name: "SchedulingWithResourceClaim",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: plain(2),
        more: [],
        pods: 1000,
        // Five pods share a claim.
        pod: pod(
          { resourceClaims: [{ name: "resource", resourceClaimName: "test-claim-{i/5}" }] },
          { resources: { claims: [{ name: "resource" }] } },
        ),
      }),
  },
  {
    name: "FirstAvailable",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: plain(10),
        more: [deviceClass("no-class", "false")],
        claim: {
          requests: [
            {
              name: "req-0",
              firstAvailable: [
                { name: "sub-0", deviceClassName: "no-class" },
                { name: "sub-1", deviceClassName: "test-class" },
              ],
            },
          ],
        },
        warm: 200,
        pods: 1000,
      }),
  },
  {
    name: "DeviceTaintToleration",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: plain(10),
        more: [
          {
            path: `${resource}/devicetaintrules`,
            object: {
              apiVersion: "resource.k8s.io/v1",
              kind: "DeviceTaintRule",
              metadata: { name: "all" },
              spec: { deviceSelector: { driver }, taint: { key: "example.com/taint", effect: "NoSchedule" } },
            },
          },
        ],
        claim: {
          requests: [
            {
              name: "req-0",
              exactly: {
                deviceClassName: "test-class",
                tolerations: [{ key: "example.com/taint", operator: "Exists" }],
              },
            },
          ],
        },
        warm: 200,
        pods: 1000,
      }),
  },
  {
    name: "Partitionable",
    nodes: 100,
    make: (nodes) =>
      workload(nodes, {
        slices: partitions,
        claim: {
          requests: [{ name: "req-0", exactly: { deviceClassName: "test-class", count: 2 } }],
          constraints: [{ requests: ["req-0"], matchAttribute: "dra.example.com/slice" }],
        },
        ...steady,
      }),
  },
  {
    name: "ConsumableCapacity",
    nodes: 100,
    make: (nodes) =>
      workload(nodes, {
        slices: plainShares,
        claim: {
          requests: range(2, (k) => ({
            name: `req-${k}`,
            exactly: { deviceClassName: "test-class", capacity: { requests: { memory: "10Gi" } } },
          })),
        },
        ...steady,
      }),
  },
  {
    name: "ExtendedResource 25 classes",
    nodes: 500,
    make: (nodes) =>
      workload(nodes, {
        slices: plain(10),
        more: range(25, (k) =>
          deviceClass(`gpu-class-${k}`, `device.driver == "${driver}"`, {
            extendedResourceName: `example.com/gpu-${k}`,
          }),
        ),
        pod: pod({}, { resources: { limits: { "example.com/gpu-{i%25}": "1" } } }),
        warm: 200,
        pods: 1000,
      }),
  },
  {
    name: "SchedulingWithResourceClaimTemplate, 5,000 nodes with 8 devices",
    nodes: 5000,
    make: (nodes) => workload(nodes, { slices: plain(8), warm: 200, pods: 2300 }),
  },
];

/** Devices that several claims share. */
function plainShares(i: number): readonly Made[] {
  const shared = { allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" } } };
  return [slice(i, { devices: range(40, (k) => device(k, shared)) })];
}
