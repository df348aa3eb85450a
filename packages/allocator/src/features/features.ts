import type { FeatureGate } from "@dray/api";

/** The enabled features, which also choose the rules (`policies.ts`). Upstream: structured.Features. */
export interface Features {
  readonly adminAccess: boolean;
  readonly prioritizedList: boolean;
  readonly partitionableDevices: boolean;
  readonly deviceTaints: boolean;
  readonly consumableCapacity: boolean;
  readonly deviceBindingAndStatus: boolean;
  readonly fractionalCapacityRange: boolean;
  readonly listTypeAttributes: boolean;
  readonly derivedAttributes: boolean;
  readonly compatibilityGroups: boolean;
  readonly optionalNodeOperations: boolean;
}

/** Returns the features that feature gates enable. Upstream: plugins/dynamicresources, AllocatorFeatures. */
export function allocatorFeatures(gates: { enabled(gate: FeatureGate): boolean }): Features {
  return {
    adminAccess: gates.enabled("DRAAdminAccess"),
    prioritizedList: gates.enabled("DRAPrioritizedList"),
    partitionableDevices: gates.enabled("DRAPartitionableDevices"),
    deviceTaints: gates.enabled("DRADeviceTaints"),
    consumableCapacity: gates.enabled("DRAConsumableCapacity"),
    deviceBindingAndStatus: gates.enabled("DRADeviceBindingConditions"),
    fractionalCapacityRange: gates.enabled("DRAFractionalCapacityRange"),
    listTypeAttributes: gates.enabled("DRAListTypeAttributes"),
    derivedAttributes: gates.enabled("DRADerivedAttributes"),
    compatibilityGroups: gates.enabled("DRADeviceCompatibilityGroups"),
    optionalNodeOperations: gates.enabled("DRAOptionalNodeOperations"),
  };
}
