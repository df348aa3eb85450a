/** Rows of bad values, and what valid specs are made of. */

export type Kind = "DeviceClass" | "DeviceTaintRule" | "ResourceClaim" | "ResourceSlice";

export interface BadValue {
  /** Path in the spec. */
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

export type Row = readonly [
  path: string,
  value: unknown,
  reason: BadValue["reason"],
  at?: string | undefined,
  more?: { alone?: false; base?: string },
];

export const rows = (list: readonly Row[]): BadValue[] =>
  list.map(([path, value, reason, at, more]) => ({
    path,
    value,
    reason,
    ...(at !== undefined && { at }),
    ...more,
  }));

export const many = (count: number, item: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_, i) => item(i));
export const long = (length: number): string => "a".repeat(length);
export const term = (expression: object): object => ({
  nodeSelectorTerms: [{ matchExpressions: [expression] }],
});
export const exists = { key: "example.com/a", operator: "Exists" };

export const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
export const driver = "driver.example.com";

export const slice = { driver, pool, allNodes: true };
export const request = { deviceClassName: "c" };
export const selectors = [{ cel: { expression: "true" } }];
export const opaque = { driver, parameters: { a: 1 } };
export const toleration = {
  key: "example.com/a",
  operator: "Equal",
  value: "v",
  effect: "NoExecute",
  tolerationSeconds: 1,
};
export const matched = [{ matchAttribute: "example.com/x" }];
/** Allowed by itself; two of them cost more than all attributes of a claim may. */
const costly = Array.from(
  { length: 3 },
  () => "device.attributes.all(k, device.attributes.all(j, device.attributes.all(m, m.size() > 1)))",
).join(" && ");
export const derived = [{ name: "example.com/x", expression: "device.driver" }];

/** Rules that are the same in `exactly` and in `firstAvailable`. */
export function requestRows(at: string, base?: string): readonly Row[] {
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
export function selectorRows(at: string, base: string): readonly Row[] {
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
export function fieldRows(at: string, base: string): readonly Row[] {
  const field = `${at}.nodeSelectorTerms[0].matchFields[0]`;
  return [
    [`${field}.key`, "spec.x", "Invalid", undefined, { base }],
    [`${field}.operator`, "Exists", "Invalid", undefined, { base, alone: false }],
    [`${field}.values`, [], "Required", undefined, { base }],
  ];
}

export const exact = "devices.requests[0].exactly";
export const alternative = "devices.requests[0].firstAvailable[0]";
export const d = "devices[0]";
export const groups = `${d}.consumesCounters[0].compatibilityGroups`;
export const policy = `${d}.capacity[m].requestPolicy`;
export const resources = `${d}.nodeAllocatableResources`;
export const allocatable = { base: "ResourceSlice allocatable" };
export const range = { base: "ResourceSlice range" };
