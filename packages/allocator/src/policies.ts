import type { Features } from "./allocator.ts";

/**
 * Upstream has several implementations of the allocator and picks one by the features that are on. Where their answers
 * differ, the difference has a name here.
 */
export interface Policies {
  /** Slices are searched by name, and a pool with binding conditions comes last; else as they were given. */
  readonly sorted: boolean;
  /** `distinctAttribute` is known. */
  readonly distinctAttribute: boolean;
  /** A request for capacity is refused while its feature is off; else it is ignored. */
  readonly refusesCapacityRequests: boolean;
  /** `bindsToNode` ties an allocation to its node. */
  readonly bindsToNode: boolean;
  /** Selectors see `device.allowMultipleAllocations`; else it is false for them. */
  readonly showsMultipleAllocations: boolean;
}

/** The rules of the implementation that upstream would choose. */
export function policiesOf(features: Features): Policies {
  const stable =
    !features.consumableCapacity &&
    !features.deviceBindingAndStatus &&
    features.fractionalCapacityRange !== true &&
    features.optionalNodeOperations !== true &&
    features.listTypeAttributes !== true;
  return {
    sorted: !stable,
    distinctAttribute: !stable,
    refusesCapacityRequests: !stable,
    bindsToNode: !stable,
    showsMultipleAllocations: !stable,
  };
}
