/**
 * Behaviour of DRA in each Kubernetes release, as upstream documents it, not as Dray answers: the releases of
 * kinds and fields (k8s.io/api), the stages of gates (pkg/features/kube_features.go), and what a server does
 * with a field whose gate is off (pkg/registry/resource/*, dropDisabledFields).
 */

export const releases = ["1.34", "1.35", "1.36", "1.37"] as const;

/** One entry a release. */
export type PerRelease = readonly [string, string, string, string];

const always: PerRelease = ["yes", "yes", "yes", "yes"];
const since36: PerRelease = ["-", "-", "yes", "yes"];
const since37: PerRelease = ["-", "-", "-", "yes"];

/** Kinds that are served with all versions and all gates on: group and version, kind, releases. */
export const kinds: readonly (readonly [groupVersion: string, kind: string, served: PerRelease])[] = [
  ...["v1", "v1beta2", "v1beta1"].flatMap((version) =>
    ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"].map(
      (kind) => [`resource.k8s.io/${version}`, kind, always] as const,
    ),
  ),
  ["resource.k8s.io/v1", "DeviceTaintRule", since37],
  ["resource.k8s.io/v1beta2", "DeviceTaintRule", since36],
  ["resource.k8s.io/v1alpha3", "DeviceTaintRule", always],
  ["resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", since36],
  ["scheduling.k8s.io/v1", "PriorityClass", always],
  ["scheduling.k8s.io/v1alpha1", "Workload", ["-", "yes", "-", "-"]],
  ["scheduling.k8s.io/v1alpha2", "PodGroup", ["-", "-", "yes", "-"]],
  ["scheduling.k8s.io/v1alpha2", "Workload", ["-", "-", "yes", "-"]],
  ["scheduling.k8s.io/v1alpha3", "CompositePodGroup", since37],
  ["scheduling.k8s.io/v1alpha3", "PodGroup", since37],
  ["scheduling.k8s.io/v1alpha3", "Workload", since37],
  ["scheduling.k8s.io/v1beta1", "PodGroup", since37],
  ["scheduling.k8s.io/v1beta1", "Workload", since37],
];

export interface FieldPrediction {
  readonly name: string;
  /** Kind of the created object, in `resource.k8s.io/v1`. */
  readonly kind: "DeviceClass" | "ResourceClaim" | "ResourceSlice";
  readonly spec: object;
  /** Path of the field in the spec. */
  readonly path: readonly (string | number)[];
  /** Stage of the gate: A alpha, off; B beta, on; b beta, off; S stable; -: the release does not have it. */
  readonly stages: PerRelease;
  /** First release whose types have the field, where that is not the first release of the gate. */
  readonly since?: "1.37";
  /** The field at which the object is refused once the field is dropped. */
  readonly refusedWithout?: string;
}

const driver = "driver.example.com";
const pool = { name: "fields", generation: 1, resourceSliceCount: 1 };

function claimOf(request: object, constraints?: readonly object[]): Pick<FieldPrediction, "kind" | "spec"> {
  return {
    kind: "ResourceClaim",
    spec: { devices: { requests: [{ name: "r", ...request }], ...(constraints && { constraints }) } },
  };
}

function exactly(more: object): Pick<FieldPrediction, "kind" | "spec"> {
  return claimOf({ exactly: { deviceClassName: "any", ...more } });
}

function deviceOf(device: object, more: object = { allNodes: true }): Pick<FieldPrediction, "kind" | "spec"> {
  return { kind: "ResourceSlice", spec: { driver, pool, ...more, devices: [{ name: "d", ...device }] } };
}

const request = ["devices", "requests", 0];
const alphaThenBeta: PerRelease = ["A", "A", "B", "B"];
const conditions = { bindingConditions: ["ready"], bindingFailureConditions: ["broken"] };
const counters = { c: { value: "1" } };

export const fields: readonly FieldPrediction[] = [
  {
    name: "prioritized list: `firstAvailable`",
    ...claimOf({ firstAvailable: [{ name: "s", deviceClassName: "any" }] }),
    path: [...request, "firstAvailable"],
    stages: ["B", "B", "S", "S"],
  },
  {
    name: "admin access: `adminAccess`",
    ...exactly({ adminAccess: true }),
    path: [...request, "exactly", "adminAccess"],
    stages: ["B", "B", "S", "S"],
  },
  {
    name: "tolerations of a request",
    ...exactly({ tolerations: [{ key: "example.com/broken", operator: "Exists" }] }),
    path: [...request, "exactly", "tolerations"],
    stages: ["A", "A", "B", "S"],
  },
  {
    name: "taints of a device",
    ...deviceOf({ taints: [{ key: "example.com/broken", effect: "NoSchedule" }] }),
    path: ["devices", 0, "taints"],
    stages: ["A", "A", "B", "S"],
  },
  {
    name: "capacity requests",
    ...exactly({ capacity: { requests: { memory: "1Gi" } } }),
    path: [...request, "exactly", "capacity"],
    stages: alphaThenBeta,
  },
  {
    name: "shared devices: `allowMultipleAllocations`",
    ...deviceOf({ allowMultipleAllocations: true }),
    path: ["devices", 0, "allowMultipleAllocations"],
    stages: alphaThenBeta,
  },
  {
    name: "`distinctAttribute`",
    ...claimOf({ exactly: { deviceClassName: "any" } }, [{ distinctAttribute: "example.com/numa" }]),
    path: ["devices", "constraints", 0, "distinctAttribute"],
    stages: alphaThenBeta,
    refusedWithout: "spec.devices.constraints[0].matchAttribute",
  },
  {
    name: "counters: `sharedCounters`",
    kind: "ResourceSlice",
    spec: { driver, pool, allNodes: true, sharedCounters: [{ name: "set", counters }] },
    path: ["sharedCounters"],
    stages: alphaThenBeta,
  },
  {
    name: "`perDeviceNodeSelection`",
    ...deviceOf({ allNodes: true }, { perDeviceNodeSelection: true }),
    path: ["perDeviceNodeSelection"],
    stages: alphaThenBeta,
    refusedWithout: "spec",
  },
  {
    name: "`bindingConditions`",
    ...deviceOf(conditions),
    path: ["devices", 0, "bindingConditions"],
    stages: alphaThenBeta,
  },
  {
    name: "`extendedResourceName`",
    kind: "DeviceClass",
    spec: { extendedResourceName: "example.com/lamp" },
    path: ["extendedResourceName"],
    stages: ["A", "A", "B", "S"],
  },
  {
    name: "lists as attributes: `strings`",
    ...deviceOf({ attributes: { tags: { strings: ["a", "b"] } } }),
    path: ["devices", 0, "attributes", "tags", "strings"],
    stages: ["-", "-", "A", "A"],
    refusedWithout: "spec.devices[0].attributes[tags]",
  },
  {
    name: "`nodeAllocatableResources`",
    ...deviceOf({ nodeAllocatableResources: { cpu: { mapping: { deviceMultiplier: "1" } } } }),
    path: ["devices", 0, "nodeAllocatableResources"],
    stages: ["-", "-", "A", "A"],
    since: "1.37",
  },
  {
    name: "`derivedAttributes`",
    ...claimOf(
      {
        exactly: {
          deviceClassName: "any",
          derivedAttributes: [{ name: "example.com/rack", expression: "device.driver" }],
        },
      },
      [{ matchAttribute: "example.com/rack" }],
    ),
    path: [...request, "exactly", "derivedAttributes"],
    stages: ["-", "-", "-", "A"],
  },
  {
    name: "`skipNodeOperations` of a slice",
    ...deviceOf({}, { allNodes: true, skipNodeOperations: ["*"] }),
    path: ["skipNodeOperations"],
    stages: ["-", "-", "-", "A"],
  },
];

/**
 * Returns the outcome for the field in the stored object: `kept`, `dropped`, `refused` as the object is
 * invalid without it, or `unknown`: the release has no such field, which is an error in strict decoding.
 */
export function fieldOutcome(field: FieldPrediction, release: number, gates: "default" | "all"): string {
  const stage = field.stages[release]!;
  if (stage === "-" || releases[release]! < (field.since ?? "")) return "unknown";
  if (gates === "all" || "BS".includes(stage)) return "kept";
  return field.refusedWithout === undefined ? "dropped" : "refused";
}

/** Outcomes of the pods of a manifest by release, with the default gates. `pods.ts` has the manifests. */
export const pods: Readonly<Record<string, PerRelease>> = {
  "`firstAvailable` of a class without devices, then one with": ["second", "second", "second", "second"],
  "admin access to a device that is in use": ["device", "device", "device", "device"],
  "a tainted device, not tolerated": ["device", "device", "waits", "waits"],
  "a tainted device, tolerated": ["device", "device", "device", "device"],
  "a device that a DeviceTaintRule taints": ["device", "device", "device", "waits"],
  "two pods with half a shared device each": ["one", "one", "both", "both"],
  "two pods, two devices on a counter for one": ["both", "both", "one", "one"],
  "a device with binding conditions": ["device", "device", "waits", "waits"],
  "a resource that a class has as extendedResourceName": ["waits", "waits", "device", "device"],
  "a slice with perDeviceNodeSelection": ["refused", "refused", "device", "device"],
};
