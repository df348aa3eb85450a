import type { Features } from "./features.ts";

/**
 * Where upstream's answer is held to be wrong, the right one. All are off by default: then the answer is the one that a
 * cluster gives, and `explain` notes where a correction would change it.
 */
export interface Corrections {
  /** Admin access takes no counters and joins no compatibility groups (kubernetes#140729). */
  readonly adminAccessIgnoresCounters: boolean;
  /** Mode All refuses a node with a pool that is incomplete or invalid, instead of failing everywhere (kubernetes#141898). */
  readonly allModeRefusesNode: boolean;
  /** A request for capacity `driver/name` means the capacity `name` of that driver, and the other way round (kubernetes#142202). */
  readonly capacityNamesByDriver: boolean;
  /** A pool whose slices disagree on their number is invalid (kubernetes#141117). */
  readonly sliceCountsMustAgree: boolean;
}

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
