import type { Corrections, Features } from "./allocator.ts";

/**
 * Upstream has several implementations of the allocator and picks one by the features that are on. Where their answers
 * differ, the difference has a name here, beside the corrections.
 */
export interface Policies extends Corrections {
  /** Slices are searched by name, and a pool with binding conditions comes last; else as they were given. */
  readonly sorted: boolean;
  /** `distinctAttribute` is known. */
  readonly distinctAttribute: boolean;
  /** A request for capacity is refused while its feature is off; else it is ignored. */
  readonly refusesCapacityRequests: boolean;
  /** `bindsToNode` ties an allocation to its node. */
  readonly bindsToNode: boolean;
  /** Slices with counters are for every node, whatever they say. */
  readonly countersEverywhere: boolean;
  /** `skipNodeOperations` is honoured: refused while its feature is off; else it is not seen at all. */
  readonly skipsNodeOperations: boolean;
  /** Selectors see `device.allowMultipleAllocations`; else it is false for them. */
  readonly showsMultipleAllocations: boolean;
}

/** The rules of the implementation that upstream would choose. */
export function policiesOf(features: Features, corrections: Partial<Corrections> = {}): Policies {
  const experimental =
    features.optionalNodeOperations ||
    features.listTypeAttributes ||
    features.derivedAttributes ||
    features.compatibilityGroups;
  const stable =
    !experimental &&
    !features.consumableCapacity &&
    !features.deviceBindingAndStatus &&
    !features.fractionalCapacityRange;
  return {
    sorted: !stable,
    distinctAttribute: !stable,
    refusesCapacityRequests: !stable,
    bindsToNode: !stable,
    countersEverywhere: stable && features.partitionableDevices,
    skipsNodeOperations: experimental,
    showsMultipleAllocations: !stable,
    adminAccessIgnoresCounters: false,
    allModeRefusesNode: false,
    capacityNamesByDriver: false,
    sliceCountsMustAgree: false,
    ...corrections,
  };
}
