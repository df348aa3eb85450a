/** Bad values of the fields of resource.k8s.io/v1, by the rules of pkg/apis/resource/validation of Kubernetes 1.37. */

export type Kind = "DeviceClass" | "DeviceTaintRule" | "ResourceClaim" | "ResourceSlice";

export interface BadValue {
  /** Where in the spec. */
  readonly path: string;
  readonly value: unknown;
  /** Of the cause, without `FieldValue`; BadRequest: the value cannot be decoded. */
  readonly reason:
    | "BadRequest"
    | "Duplicate"
    | "Forbidden"
    | "Invalid"
    | "NotFound"
    | "NotSupported"
    | "Required"
    | "TooLong"
    | "TooMany";
  /** Field of the cause, below the spec; `path` by default, empty: the spec itself. */
  readonly at?: string;
  /** False: there are other causes too. */
  readonly alone?: false;
  /** The spec that is changed: one of `bases`, the kind's own by default. */
  readonly base?: string;
}

type Row = readonly [
  path: string,
  value: unknown,
  reason: BadValue["reason"],
  at?: string | undefined,
  more?: { alone?: false; base?: string },
];

const rows = (list: readonly Row[]): BadValue[] =>
  list.map(([path, value, reason, at, more]) => ({
    path,
    value,
    reason,
    ...(at !== undefined && { at }),
    ...more,
  }));

const many = (count: number, item: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_, i) => item(i));
const long = (length: number): string => "a".repeat(length);
const term = (expression: object): object => ({ nodeSelectorTerms: [{ matchExpressions: [expression] }] });
const exists = { key: "example.com/a", operator: "Exists" };

const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
const driver = "driver.example.com";
const slice = { driver, pool, allNodes: true };
const request = { deviceClassName: "c" };
const selectors = [{ cel: { expression: "true" } }];
const opaque = { driver, parameters: { a: 1 } };
const toleration = {
  key: "example.com/a",
  operator: "Equal",
  value: "v",
  effect: "NoExecute",
  tolerationSeconds: 1,
};
const matched = [{ matchAttribute: "example.com/x" }];
/** Allowed by itself; two of them cost more than all attributes of a claim may. */
const costly = Array.from(
  { length: 3 },
  () => "device.attributes.all(k, device.attributes.all(j, device.attributes.all(m, m.size() > 1)))",
).join(" && ");
const derived = [{ name: "example.com/x", expression: "device.driver" }];

/** Specs that are valid: the first word is the kind. */
export const bases: Readonly<Record<string, object>> = {
  DeviceClass: { selectors, config: [{ opaque }], extendedResourceName: "example.com/x" },
  DeviceTaintRule: {
    deviceSelector: { driver, pool: "p", device: "d" },
    taint: { key: "example.com/a", value: "v", effect: "NoSchedule" },
  },
  ResourceClaim: {
    devices: {
      requests: [
        {
          name: "r",
          exactly: { ...request, selectors, tolerations: [toleration], derivedAttributes: derived },
        },
      ],
      constraints: matched,
      config: [{ requests: ["r"], opaque }],
    },
  },
  "ResourceClaim firstAvailable": {
    devices: {
      requests: [
        {
          name: "r",
          firstAvailable: [
            { name: "s", ...request, selectors, tolerations: [toleration], derivedAttributes: derived },
          ],
        },
      ],
      constraints: matched,
    },
  },
  ResourceSlice: {
    ...slice,
    devices: [
      {
        name: "d",
        attributes: { a: { string: "x" } },
        capacity: { m: { value: "4Gi", requestPolicy: { default: "1Gi", validValues: ["1Gi", "2Gi"] } } },
        allowMultipleAllocations: true,
        consumesCounters: [{ counterSet: "set", counters: { c: { value: "1" } } }],
        taints: [{ key: "example.com/a", value: "v", effect: "NoSchedule" }],
        bindingConditions: ["ready"],
        bindingFailureConditions: ["broken"],
      },
    ],
  },
  "ResourceSlice range": {
    ...slice,
    devices: [
      {
        name: "d",
        allowMultipleAllocations: true,
        capacity: {
          m: {
            value: "4Gi",
            requestPolicy: { default: "1Gi", validRange: { min: "1Gi", max: "4Gi", step: "1Gi" } },
          },
        },
      },
    ],
  },
  "ResourceSlice counters": { ...slice, sharedCounters: [{ name: "set", counters: { c: { value: "1" } } }] },
  "ResourceSlice nodes": { driver, pool, nodeSelector: term(exists) },
  "ResourceSlice fields": {
    driver,
    pool,
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
    },
  },
  "ResourceSlice allocatable": {
    ...slice,
    devices: [
      {
        name: "d",
        capacity: { m: { value: "4Gi" } },
        nodeAllocatableResources: {
          cpu: { mapping: { deviceMultiplier: "1" }, overhead: { perPod: "1" } },
          memory: { mapping: { capacityKey: "m", capacityMultiplier: "1" } },
        },
      },
    ],
  },
  "ResourceSlice device fields": {
    driver,
    pool,
    perDeviceNodeSelection: true,
    devices: [
      {
        name: "d",
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
        },
      },
    ],
  },
  "ResourceSlice devices": {
    driver,
    pool,
    perDeviceNodeSelection: true,
    devices: [{ name: "d", nodeSelector: term(exists) }],
  },
};

/** Rules that are the same in `exactly` and in `firstAvailable`. */
function requestRows(at: string, base?: string): readonly Row[] {
  const of = (more: { alone?: false } = {}): { alone?: false; base?: string } => ({
    ...more,
    ...(base && { base }),
  });
  const first = `${at}.tolerations[0]`;
  return [
    [`${at}.deviceClassName`, undefined, "Required", undefined, of()],
    [`${at}.deviceClassName`, "A_b", "Invalid", undefined, of()],
    [`${at}.selectors`, many(33, () => selectors[0]), "TooMany", undefined, of()],
    [`${at}.selectors[0].cel`, undefined, "Required", undefined, of()],
    [`${at}.selectors[0].cel.expression`, "device.nosuch", "Invalid", undefined, of()],
    [`${at}.selectors[0].cel.expression`, `"${long(10240)}" == ""`, "TooLong", undefined, of()],
    [`${at}.allocationMode`, "Some", "NotSupported", undefined, of()],
    [`${at}.count`, -1, "Invalid", undefined, of()],
    [`${at}.tolerations`, {}, "BadRequest", undefined, of()],
    [`${first}.key`, "a b", "Invalid", undefined, of()],
    [`${first}.operator`, "Near", "NotSupported", undefined, of()],
    [`${first}.value`, "a b", "Invalid", undefined, of()],
    [`${first}.effect`, "Never", "NotSupported", undefined, of()],
    [`${first}.tolerationSeconds`, "1", "BadRequest", undefined, of()],
    [`${at}.capacity`, [], "BadRequest", undefined, of()],
    [`${at}.capacity.requests`, { m: "x" }, "BadRequest", undefined, of()],
    [
      `${at}.derivedAttributes`,
      many(33, (i) => ({ ...derived[0], name: `example.com/x${i}` })),
      "TooMany",
      undefined,
      of({ alone: false }),
    ],
    [`${at}.derivedAttributes[0].name`, "x", "Invalid", undefined, of({ alone: false })],
    [`${at}.derivedAttributes[0].name`, "example.com/unused", "Invalid", undefined, of()],
    [`${at}.derivedAttributes`, [derived[0], derived[0]], "Duplicate", `${at}.derivedAttributes[1]`, of()],
    [
      `${at}.derivedAttributes`,
      ["x", "y"].map((name) => ({ name: `example.com/${name}`, expression: costly })),
      "Forbidden",
      "devices",
      of({ alone: false }),
    ],
    [`${at}.derivedAttributes[0].name`, undefined, "Required", undefined, of()],
    [`${at}.derivedAttributes[0].expression`, undefined, "Required", undefined, of()],
    [`${at}.derivedAttributes[0].expression`, "device.frob", "Invalid", undefined, of()],
    [`${at}.derivedAttributes[0].expression`, "device.attributes", "Invalid", undefined, of()],
    [`${at}.derivedAttributes[0].expression`, `"${long(10240)}"`, "TooLong", undefined, of()],
  ];
}

/** Rules of a node selector at `at` with one expression. */
function selectorRows(at: string, base: string): readonly Row[] {
  const expression = `${at}.nodeSelectorTerms[0].matchExpressions[0]`;
  return [
    [`${at}.nodeSelectorTerms[0].matchExpressions`, "x", "BadRequest", undefined, { base }],
    [`${expression}.key`, "a b", "Invalid", undefined, { base }],
    [`${expression}.operator`, "Near", "Invalid", undefined, { base }],
    [`${expression}.values`, ["a"], "Forbidden", undefined, { base }],
    [`${at}.nodeSelectorTerms[0].matchFields`, "x", "BadRequest", undefined, { base }],
    [
      `${at}.nodeSelectorTerms[0].matchFields`,
      [{ key: "spec.x", operator: "In", values: ["n"] }],
      "Invalid",
      `${at}.nodeSelectorTerms[0].matchFields[0].key`,
      { base },
    ],
  ];
}

/** The same of one with a field. */
function fieldRows(at: string, base: string): readonly Row[] {
  const field = `${at}.nodeSelectorTerms[0].matchFields[0]`;
  return [
    [`${field}.key`, "spec.x", "Invalid", undefined, { base }],
    [`${field}.operator`, "Exists", "Invalid", undefined, { base, alone: false }],
    [`${field}.values`, [], "Required", undefined, { base }],
  ];
}

const exact = "devices.requests[0].exactly";
const alternative = "devices.requests[0].firstAvailable[0]";
const d = "devices[0]";
const groups = `${d}.consumesCounters[0].compatibilityGroups`;
const policy = `${d}.capacity[m].requestPolicy`;
const resources = `${d}.nodeAllocatableResources`;
const allocatable = { base: "ResourceSlice allocatable" };
const range = { base: "ResourceSlice range" };

export const badValues: Readonly<Record<Kind, readonly BadValue[]>> = {
  DeviceClass: rows([
    ["selectors", many(33, () => selectors[0]), "TooMany"],
    ["selectors[0].cel", undefined, "Required"],
    ["selectors[0].cel.expression", "1", "Invalid"],
    ["config", many(33, () => ({ opaque })), "TooMany"],
    ["config[0].opaque", undefined, "Required"],
    ["config[0].opaque.driver", "a_b", "Invalid"],
    ["config[0].opaque.driver", undefined, "Required"],
    ["config[0].opaque.parameters", undefined, "Required"],
    ["config[0].opaque.parameters", [1], "Invalid"],
    ["extendedResourceName", "cpu", "Invalid"],
  ]),
  DeviceTaintRule: rows([
    ["deviceSelector", [], "BadRequest"],
    ["deviceSelector.driver", "a_b", "Invalid"],
    ["deviceSelector.pool", "A_b", "Invalid"],
    ["deviceSelector.device", "A_b", "Invalid"],
    ["taint", [], "BadRequest"],
    ["taint.key", undefined, "Invalid", undefined, { alone: false }],
    ["taint.key", "a b", "Invalid"],
    ["taint.value", "a b", "Invalid"],
    ["taint.effect", undefined, "Required"],
    ["taint.effect", "Never", "NotSupported"],
    ["taint.timeAdded", "soon", "BadRequest"],
  ]),
  ResourceClaim: rows([
    ["devices", [], "BadRequest"],
    [
      "devices.requests",
      many(33, (i) => ({ name: `r${i}`, exactly: request })),
      "TooMany",
      undefined,
      { alone: false },
    ],
    ["devices.requests[0].name", undefined, "Invalid", undefined, { alone: false }],
    ["devices.requests[0].name", "A", "Invalid", undefined, { alone: false }],
    ["devices.requests[0].exactly", undefined, "Required", "devices.requests[0]", { alone: false }],
    [
      "devices.requests[0].firstAvailable",
      [{ name: "s", ...request }],
      "Invalid",
      "devices.requests[0]",
      { alone: false },
    ],
    [
      "devices.requests[0].firstAvailable",
      many(9, (i) => ({ name: `s${i}`, ...request })),
      "TooMany",
      undefined,
      { base: "ResourceClaim firstAvailable", alone: false },
    ],
    [`${alternative}.name`, undefined, "Invalid", undefined, { base: "ResourceClaim firstAvailable" }],
    ...requestRows(exact),
    ...requestRows(alternative, "ResourceClaim firstAvailable"),
    [`${exact}.adminAccess`, true, "Forbidden", "devices.requests[0].adminAccess"],
    ["devices.constraints", many(33, () => matched[0]), "TooMany", undefined, { alone: false }],
    [
      "devices.constraints[0].requests",
      ["nosuch"],
      "Invalid",
      "devices.constraints[0].requests[0]",
      { alone: false },
    ],
    ["devices.constraints[0].matchAttribute", "x", "Invalid", undefined, { alone: false }],
    ["devices.constraints[1].distinctAttribute", "x", "Invalid"],
    ["devices.constraints[0]", {}, "Required", undefined, { alone: false }],
    ["devices.config", many(33, () => ({ opaque })), "TooMany"],
    ["devices.config[0].requests", ["nosuch"], "Invalid", "devices.config[0].requests[0]"],
    ["devices.config[0].requests", ["r", "r"], "Duplicate", "devices.config[0].requests[1]"],
    ["devices.config[0].opaque", undefined, "Required"],
    ["devices.config[0].opaque.driver", "a_b", "Invalid"],
    ["devices.config[0].opaque.parameters", "x", "Invalid"],
  ]),
  ResourceSlice: rows([
    ["driver", "a_b", "Invalid"],
    ["driver", undefined, "Required"],
    ["pool", [], "BadRequest"],
    ["pool.name", undefined, "Required"],
    ["pool.name", "A_b", "Invalid"],
    ["pool.generation", -1, "Invalid"],
    ["pool.resourceSliceCount", 0, "Invalid"],
    ["nodeName", "n", "Invalid", ""],
    [
      "nodeSelector",
      { nodeSelectorTerms: [] },
      "Required",
      "nodeSelector.nodeSelectorTerms",
      { base: "ResourceSlice nodes", alone: false },
    ],
    ["nodeSelector.nodeSelectorTerms", [{}, {}], "Invalid", undefined, { base: "ResourceSlice nodes" }],
    ...selectorRows("nodeSelector", "ResourceSlice nodes"),
    ...fieldRows("nodeSelector", "ResourceSlice fields"),
    ["allNodes", false, "Invalid", undefined, { alone: false }],
    ["perDeviceNodeSelection", true, "Invalid", "", { alone: false }],
    ["devices", many(129, (i) => ({ name: `d${i}` })), "TooMany"],
    [
      "devices",
      many(65, (i) => ({ name: `d${i}`, taints: [{ key: "a", effect: "NoSchedule" }] })),
      "TooMany",
    ],
    [`${d}.name`, "A", "Invalid"],
    [`${d}.name`, undefined, "Invalid"],
    [`${d}.attributes`, { "a b": { int: 1 } }, "Invalid"],
    [`${d}.attributes[a].int`, 1, "Invalid", `${d}.attributes[a]`],
    [`${d}.attributes[a].bool`, true, "Invalid", `${d}.attributes[a]`],
    [`${d}.attributes[a].string`, long(65), "TooLong"],
    [`${d}.attributes[a]`, { version: "1" }, "Invalid", `${d}.attributes[a].version`],
    [`${d}.attributes[a].version`, "1.0.0", "Invalid", `${d}.attributes[a]`],
    [`${d}.attributes[a].ints`, [1], "Invalid", `${d}.attributes[a]`],
    [`${d}.attributes[a].bools`, [true], "Invalid", `${d}.attributes[a]`],
    [`${d}.attributes[a].strings`, ["a"], "Invalid", `${d}.attributes[a]`],
    [`${d}.attributes[a].versions`, ["1.0.0"], "Invalid", `${d}.attributes[a]`],
    [`${d}.capacity`, [], "BadRequest"],
    [`${d}.capacity[m].value`, "x", "BadRequest"],
    [policy, [], "BadRequest"],
    [`${policy}.default`, undefined, "Required"],
    [`${policy}.default`, "3Gi", "Invalid", `${policy}.validValues`],
    [`${policy}.validValues`, many(11, (i) => `${i + 1}`), "TooMany", undefined, { alone: false }],
    [`${policy}.validRange`, { min: "1Gi" }, "Forbidden", policy],
    [`${policy}.validRange.min`, undefined, "Required", undefined, range],
    [`${policy}.validRange.max`, "5Gi", "Invalid", undefined, { ...range, alone: false }],
    [`${policy}.validRange.step`, "0", "Invalid", undefined, { ...range, alone: false }],
    [
      `${d}.consumesCounters`,
      many(3, (i) => ({ counterSet: `s${i}`, counters: { c: { value: "1" } } })),
      "TooMany",
    ],
    [`${d}.consumesCounters[0].counterSet`, undefined, "Required"],
    [`${d}.consumesCounters[0].counters`, undefined, "Required"],
    [`${d}.consumesCounters[0].counters[c].value`, "x", "BadRequest"],
    [groups, ["a", "b", "c"], "TooMany"],
    [groups, ["A"], "Invalid", `${groups}[0]`],
    [groups, ["a", "a"], "Duplicate", `${groups}[1]`],
    [`${d}.nodeName`, "n", "Invalid", d],
    [`${d}.allNodes`, true, "Invalid", d],
    [`${d}.nodeSelector`, term(exists), "Invalid", d],
    [`${d}.nodeSelector.nodeSelectorTerms`, [], "Required", undefined, { base: "ResourceSlice devices" }],
    ...selectorRows(`${d}.nodeSelector`, "ResourceSlice devices"),
    ...fieldRows(`${d}.nodeSelector`, "ResourceSlice device fields"),
    [`${resources}[cpu].mapping`, [], "BadRequest", undefined, allocatable],
    [`${resources}[cpu].mapping.deviceMultiplier`, "0", "Invalid", undefined, allocatable],
    [`${resources}[memory].mapping.capacityKey`, "n", "NotFound", undefined, allocatable],
    [`${resources}[memory].mapping.capacityMultiplier`, "0", "Invalid", undefined, allocatable],
    [`${resources}[cpu].overhead`, [], "BadRequest", undefined, allocatable],
    [`${resources}[cpu].overhead.perPod`, "-1", "Invalid", undefined, allocatable],
    [`${resources}[cpu].overhead.perContainer`, "-1", "Invalid", undefined, allocatable],
    [`${d}.taints`, many(17, (i) => ({ key: `k${i}`, effect: "NoSchedule" })), "TooMany"],
    [`${d}.taints[0].key`, "a b", "Invalid"],
    [`${d}.taints[0].value`, "a b", "Invalid"],
    [`${d}.taints[0].effect`, "Never", "NotSupported"],
    [`${d}.taints[0].timeAdded`, "soon", "BadRequest"],
    [`${d}.bindsToNode`, "x", "BadRequest"],
    [`${d}.bindingConditions`, many(5, (i) => `c${i}`), "TooMany"],
    [`${d}.bindingFailureConditions`, undefined, "Invalid"],
    [`${d}.allowMultipleAllocations`, undefined, "Forbidden", policy],
    [
      `${d}.nodeAllocatableResources`,
      { nosuch: { overhead: { perPod: "1" } } },
      "Invalid",
      `${d}.nodeAllocatableResources[nosuch]`,
    ],
    [
      `${d}.nodeAllocatableResources`,
      { cpu: { mapping: { capacityKey: "n", capacityMultiplier: "1" } } },
      "NotFound",
      `${d}.nodeAllocatableResources[cpu].mapping.capacityKey`,
    ],
    [
      "sharedCounters",
      many(9, (i) => ({ name: `s${i}`, counters: { c: { value: "1" } } })),
      "TooMany",
      undefined,
      { base: "ResourceSlice counters" },
    ],
    ["sharedCounters[0].name", "A", "Invalid", undefined, { base: "ResourceSlice counters" }],
    ["sharedCounters[0].counters", undefined, "Required", undefined, { base: "ResourceSlice counters" }],
    ["sharedCounters[0].counters[c].value", "x", "BadRequest", undefined, { base: "ResourceSlice counters" }],
    ["partitionTypeAttribute", "nosuch.example.com/x", "Required", `${d}.attributes[nosuch.example.com/x]`],
    ["skipNodeOperations", ["NodePrepareResources"], "Invalid", undefined, { alone: false }],
  ]),
};
