/**
 * The manifests of the pods in `predictions.ts`; each scenario has a namespace, a driver and a class of its
 * own.
 */

export interface Scenario {
  /** Specs of slices, created in this order. */
  readonly slices: readonly object[];
  /** More of the spec of the class. */
  readonly deviceClass?: object;
  /** Labels of the namespace. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Spec of a DeviceTaintRule of resource.k8s.io/v1alpha3. */
  readonly rule?: object;
  /**
   * The pods, created one after the other: the request of the claim of each, or what its container requests.
   */
  readonly pods: readonly ({ readonly request: object } | { readonly resource: string })[];
  /** The words for devices per pod, in the order of `pods`; null waits. By default the last pod counts. */
  words?(devices: readonly (readonly string[] | null)[]): string;
}

const taint = { key: "example.com/broken", effect: "NoSchedule" };
const countTwo = ([one, two]: readonly (readonly string[] | null)[]): string =>
  one == null ? "none" : two == null ? "one" : "both";

/** The scenario of a prediction. `id` names its driver (`ID.example.com`) and its class. */
export function scenarioOf(prediction: string, id: string): Scenario {
  const found = scenarios[prediction];
  if (found === undefined) throw new Error(`no manifests for ${JSON.stringify(prediction)}`);
  return found(id);
}

export function driverOf(id: string): string {
  return `${id}.example.com`;
}

function slice(id: string, devices: readonly object[], more: object = { allNodes: true }): object {
  return {
    driver: driverOf(id),
    pool: { name: id, generation: 1, resourceSliceCount: 1 },
    devices,
    ...more,
  };
}

const plain = (id: string): object => ({ exactly: { deviceClassName: id } });

const scenarios: Readonly<Record<string, (id: string) => Scenario>> = {
  "`firstAvailable` of a class without devices, then one with": (id) => {
    const impossible = [{ cel: { expression: "false" } }];
    const firstAvailable = [
      { name: "first", deviceClassName: id, selectors: impossible },
      { name: "second", deviceClassName: id },
    ];
    return {
      slices: [slice(id, [{ name: "second" }])],
      pods: [{ request: { firstAvailable } }],
      words: names,
    };
  },
  "admin access to a device that is in use": (id) => ({
    slices: [slice(id, [{ name: "d" }])],
    labels: { "resource.kubernetes.io/admin-access": "true" },
    pods: [{ request: plain(id) }, { request: { exactly: { deviceClassName: id, adminAccess: true } } }],
  }),
  "a tainted device, not tolerated": (id) => ({
    slices: [slice(id, [{ name: "d", taints: [taint] }])],
    pods: [{ request: plain(id) }],
  }),
  "a tainted device, tolerated": (id) => ({
    slices: [slice(id, [{ name: "d", taints: [taint] }])],
    pods: [
      {
        request: {
          exactly: { deviceClassName: id, tolerations: [{ key: taint.key, operator: "Exists" }] },
        },
      },
    ],
  }),
  "a device that a DeviceTaintRule taints": (id) => ({
    slices: [slice(id, [{ name: "d" }])],
    rule: { deviceSelector: { driver: driverOf(id) }, taint },
    pods: [{ request: plain(id) }],
  }),
  "two pods with half a shared device each": (id) => {
    const request = {
      exactly: { deviceClassName: id, capacity: { requests: { memory: "1Gi" } } },
    };
    const device = { name: "d", allowMultipleAllocations: true, capacity: { memory: { value: "2Gi" } } };
    return { slices: [slice(id, [device])], pods: [{ request }, { request }], words: countTwo };
  },
  "two pods, two devices on a counter for one": (id) => {
    const counters = { c: { value: "1" } };
    const consumesCounters = [{ counterSet: "set", counters }];
    const { devices: _, ...empty } = slice(id, []) as { devices: unknown };
    const pool = { name: id, generation: 1, resourceSliceCount: 2 };
    return {
      slices: [
        { ...empty, pool, sharedCounters: [{ name: "set", counters }] },
        slice(
          id,
          [
            { name: "a", consumesCounters },
            { name: "b", consumesCounters },
          ],
          { allNodes: true, pool },
        ),
      ],
      pods: [{ request: plain(id) }, { request: plain(id) }],
      words: countTwo,
    };
  },
  "a device with binding conditions": (id) => ({
    slices: [slice(id, [{ name: "d", bindingConditions: ["ready"], bindingFailureConditions: ["broken"] }])],
    pods: [{ request: plain(id) }],
  }),
  "a resource that a class has as extendedResourceName": (id) => ({
    slices: [slice(id, [{ name: "d" }])],
    deviceClass: { extendedResourceName: `${driverOf(id)}/lamp` },
    pods: [{ resource: `${driverOf(id)}/lamp` }],
  }),
  "a slice with perDeviceNodeSelection": (id) => ({
    slices: [slice(id, [{ name: "d", allNodes: true }], { perDeviceNodeSelection: true })],
    pods: [{ request: plain(id) }],
  }),
};

function names(devices: readonly (readonly string[] | null)[]): string {
  return devices.map((each) => each?.join(",") ?? "waits").join(" ");
}
