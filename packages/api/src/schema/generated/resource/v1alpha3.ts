// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, QuantityText, StoredMeta, Time } from "../../../objects/object.ts";
import type { Condition, ListMeta } from "../meta/v1.ts";

/** Selects devices with a CEL expression. */
export interface CELDeviceSelector {
  /**
   * Expression that must be true, such as device.driver == "gpu.example.com" &&
   * device.attributes["gpu.example.com"].model == "A100". An attribute that a device lacks is an error: test
   * it with `in` or orValue first.
   */
  expression: string;
}

/** Selects devices. */
export interface DeviceSelector {
  /** Selects them by a CEL expression. */
  cel?: CELDeviceSelector;
}

/** Keeps a device from claims that do not tolerate it. */
export interface DeviceTaint {
  /** Key of the taint, in the form of a label key. */
  key: string;
  /** Value of the taint, in the form of a label value. */
  value?: string;
  /** None (only informs), NoSchedule (no new allocations) or NoExecute (running pods are evicted too). */
  effect: string;
  /** When the taint was added. */
  timeAdded?: Time;
}

/** Adds a taint to all devices that it selects. */
export interface DeviceTaintRule {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Selected devices, and their taint. */
  spec: DeviceTaintRuleSpec;
  /** Status; the system writes it. */
  status?: DeviceTaintRuleStatus;
}

export interface DeviceTaintRuleList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: DeviceTaintRule[];
}

/** Selected devices, and their taint. */
export interface DeviceTaintRuleSpec {
  /** The devices that get the taint; what is set must all match. */
  deviceSelector?: DeviceTaintSelector;
  /** The taint that they get. */
  taint?: DeviceTaint;
}

/** Status of a taint rule. */
export interface DeviceTaintRuleStatus {
  /** Latest observations, at most one of a type. */
  conditions?: Condition[];
}

/** Selects devices that are tainted: those that match all fields that are set. */
export interface DeviceTaintSelector {
  /** Devices of this driver. */
  driver?: string;
  /** Devices of this pool. */
  pool?: string;
  /** The device of this name. */
  device?: string;
  /** Devices of this class. */
  deviceClassName?: string;
  /** Devices that all of these expressions select. */
  selectors?: DeviceSelector[];
}

/** Figures for one kind of partition. */
export interface PartitionTypeStatus {
  /** Attribute that tells the kinds apart. */
  attribute?: string;
  /** Its value. */
  type?: string;
  /** How many partitions of the kind there are. */
  total?: number;
  /** How many of them can still be allocated. */
  allocatable?: number;
}

/** Summary of one pool. */
export interface PoolStatus {
  /** Driver of the pool. */
  driver?: string;
  /** Name of the pool. */
  poolName?: string;
  /** Newest generation of the pool. */
  generation: Int64;
  /** How many slices the pool consists of. */
  resourceSliceCount?: number;
  /** How many devices the pool has. */
  totalDevices?: number;
  /** How many of them are allocated. */
  allocatedDevices?: number;
  /** How many of them can be allocated. */
  availableDevices?: number;
  /** How many of them can neither be allocated nor are, because of a taint for example. */
  unavailableDevices?: number;
  /** The node of the pool, if all slices name the same. */
  nodeName?: string;
  /** Why the figures are missing, such as an incomplete pool. */
  validationError?: string;
  /** Figures for each kind of partition. */
  partitionSummary?: PartitionTypeStatus[];
  /** Figures for devices that several claims share. */
  shareableSummary?: ShareableSummaryStatus;
}

/** Asks once for a summary of the devices of a driver. A controller answers in the status. */
export interface ResourcePoolStatusRequest {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Selected pools. */
  spec: ResourcePoolStatusRequestSpec;
  /** The answer. Written once; delete the request and create a new one for newer figures. */
  status?: ResourcePoolStatusRequestStatus;
}

export interface ResourcePoolStatusRequestList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ResourcePoolStatusRequest[];
}

/** Pools to summarise. Immutable. */
export interface ResourcePoolStatusRequestSpec {
  /** Pools of this driver. */
  driver: string;
  /** The pool of this name. Default: all pools of the driver. */
  poolName?: string;
  /** The most pools in the answer, 1 to 1000. Default 100. */
  limit?: number;
  /** Attribute that tells the kinds of partition apart, for slices that name none. */
  defaultPartitionTypeAttribute?: string;
}

/** The answer to a request. */
export interface ResourcePoolStatusRequestStatus {
  /** How many pools match, whatever the limit. */
  poolCount?: number;
  /** The pools. */
  pools?: PoolStatus[];
  /** Complete or Failed. */
  conditions?: Condition[];
}

/** Figures for one capacity of shared devices. */
export interface ShareableCapacityStatus {
  /** Name of the capacity. */
  name?: string;
  /** Sum of what the devices have. */
  total?: QuantityText;
  /** Sum of what is taken. */
  consumed?: QuantityText;
  /** Sum of what is left. */
  available?: QuantityText;
}

/** Figures for devices that several claims share. */
export interface ShareableSummaryStatus {
  /** Devices of which nothing is taken. */
  fullyAvailableDevices?: number;
  /** Devices of which a part is taken. */
  partiallyAvailableDevices?: number;
  /** Figures for each capacity. */
  capacity?: ShareableCapacityStatus[];
}
