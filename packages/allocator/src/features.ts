import type { FeatureGate } from "@dray/api";
import type { Features } from "./allocator.ts";

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
