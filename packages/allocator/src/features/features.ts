import type { FeatureGate } from "@dray/api";

/** Which features are on; the fields of structured.Features upstream, which also choose its implementation (`policies.ts`). */
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

/** The features that the gates of a release switch on (kube-scheduler's AllocatorFeatures). */
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
