import fc from "fast-check";

export const allFeatures = [
  "AdminAccess",
  "CompatibilityGroups",
  "ConsumableCapacity",
  "DerivedAttributes",
  "DeviceBindingAndStatus",
  "DeviceTaints",
  "FractionalCapacityRange",
  "ListTypeAttributes",
  "OptionalNodeOperations",
  "PartitionableDevices",
  "PrioritizedList",
] as const;
const stableFeatures = ["AdminAccess", "DeviceTaints", "PartitionableDevices", "PrioritizedList"];
/** The defaults of Kubernetes 1.37. */
export const defaultFeatures = [
  ...stableFeatures,
  "ConsumableCapacity",
  "DeviceBindingAndStatus",
  "FractionalCapacityRange",
];

export const features: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<readonly string[]>(allFeatures) },
  { weight: 3, arbitrary: fc.constant<readonly string[]>(defaultFeatures) },
  { weight: 2, arbitrary: fc.constant<readonly string[]>(stableFeatures) },
  { weight: 1, arbitrary: fc.subarray([...allFeatures]) },
);

/** The value, or with a probability of 1/(weight + 1) the other. */
export const often = <T>(value: T, other: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });
/** Undefined, or with a probability of 1/(weight + 1) the other. */
export const seldom = <T>(arbitrary: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** The features that a cluster uses: with all of them at once, few requests would have a solution. */
export const theme = fc.record({
  lists: often(false, fc.constant(true), 2),
  capacity: often(false, fc.constant(true), 1),
  taints: often(false, fc.constant(true), 2),
  counters: often(false, fc.constant(true), 2),
  groups: often(false, fc.constant(true), 1),
  binding: often(false, fc.constant(true), 3),
  errors: often(false, fc.constant(true), 2),
  derived: often(false, fc.constant(true), 1),
  alternatives: fc.constant<boolean>(true),
  admin: fc.constant<boolean>(true),
  distinct: fc.constant<boolean>(true),
});
export type Theme = typeof theme extends fc.Arbitrary<infer T> ? T : never;

/** The theme without disabled features, whose use is an error on nearly every input. */
export function withinFeatures(theme: Theme, features: readonly string[]): Theme {
  const on = (feature: string): boolean => features.includes(feature);
  return {
    ...theme,
    lists: theme.lists && on("ListTypeAttributes"),
    capacity: theme.capacity && on("ConsumableCapacity"),
    counters: theme.counters && on("PartitionableDevices"),
    groups: theme.groups && on("CompatibilityGroups"),
    binding: theme.binding && on("DeviceBindingAndStatus"),
    derived: theme.derived && on("DerivedAttributes"),
    alternatives: on("PrioritizedList"),
    admin: on("AdminAccess"),
    distinct: on("ConsumableCapacity"),
  };
}
