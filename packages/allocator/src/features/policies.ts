import type { Features } from "./features.ts";

/**
 * Corrections of upstream's behaviour. All are off by default: the result is that of a real cluster, and
 * `explain` notes where a correction would change it.
 */
export interface Corrections {
  /** Admin access consumes no counters and joins no compatibility groups (kubernetes#140729). */
  readonly adminAccessIgnoresCounters: boolean;
  /**
   * In mode All, an incomplete or invalid pool refuses the node instead of failing the attempt
   * (kubernetes#141898).
   */
  readonly allModeRefusesNode: boolean;
  /**
   * A request for capacity `driver/name` also means the capacity `name` of that driver, and vice versa
   * (kubernetes#142202).
   */
  readonly capacityNamesByDriver: boolean;
  /** A pool is invalid if its slices disagree on resourceSliceCount (kubernetes#141117). */
  readonly sliceCountsMustAgree: boolean;
}

/**
 * The rules that differ between upstream's implementations of the allocator (stable, incubating,
 * experimental), of which it chooses one by the features, and the corrections.
 *
 * Upstream: dynamic-resource-allocation/structured/allocator.go, NewAllocator.
 */
export interface Policies extends Corrections {
  /** Slices are searched by name, and pools with binding conditions last; otherwise in the order given. */
  readonly sorted: boolean;
  /** The constraint `distinctAttribute` is supported. */
  readonly distinctAttribute: boolean;
  /** While its feature is off, a request for capacity is refused; otherwise it is ignored. */
  readonly refusesCapacityRequests: boolean;
  /** `bindsToNode` of a device restricts the allocation to the node. */
  readonly bindsToNode: boolean;
  /** Slices with shared counters are for all nodes, whichever they name. */
  readonly countersForAllNodes: boolean;
  /** `skipNodeOperations` is supported: refused while its feature is off. Otherwise it is ignored. */
  readonly skipsNodeOperations: boolean;
  /** Selectors see `device.allowMultipleAllocations`; otherwise it is always false for them. */
  readonly showsMultipleAllocations: boolean;
}

/** Returns the rules of the implementation that upstream chooses for these features. */
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
    countersForAllNodes: stable && features.partitionableDevices,
    skipsNodeOperations: experimental,
    showsMultipleAllocations: !stable,
    adminAccessIgnoresCounters: false,
    allModeRefusesNode: false,
    capacityNamesByDriver: false,
    sliceCountsMustAgree: false,
    ...corrections,
  };
}
