// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, NamespacedMeta, QuantityText, StoredMeta, Time } from "../../../objects/object.ts";
import type { NodeSelector } from "../core/v1.ts";
import type { Condition, ListMeta, ObjectMeta } from "../meta/v1.ts";

/** Status of one allocated device, reported by its driver. */
export interface AllocatedDeviceStatus {
  /** Name of the driver of the device. */
  driver: string;
  /** Name of the pool of the device. */
  pool: string;
  /** Name of the device within its pool. */
  device: string;
  /** Share of the device, if several claims share it. */
  shareID?: string;
  /** Latest observations of the state of the device, at most one of a type. */
  conditions?: Condition[];
  /** Driver-specific data; at most 10 KiB. */
  data?: unknown;
  /** The device as a network interface. */
  networkData?: NetworkDeviceData;
}

/** Devices allocated to a claim. */
export interface AllocationResult {
  /** The allocated devices. */
  devices?: DeviceAllocationResult;
  /** The nodes on which the devices can be used. Unset: all nodes. */
  nodeSelector?: NodeSelector;
  /** When the devices were allocated. */
  allocationTimestamp?: Time;
}

/** Selects devices with a CEL expression. */
export interface CELDeviceSelector {
  /**
   * Expression that must be true, such as device.driver == "gpu.example.com" &&
   * device.attributes["gpu.example.com"].model == "A100". An attribute that a device lacks is an error: test
   * it with `in` or orValue first.
   */
  expression: string;
}

/** How requests for a capacity are rounded and bounded. Valid values and a valid range exclude each other. */
export interface CapacityRequestPolicy {
  /** How much a request takes that does not name the capacity. */
  default?: QuantityText;
  /** The amounts that can be taken; a request is rounded up to the next one. */
  validValues?: QuantityText[];
  /** The range of amounts that can be taken. */
  validRange?: CapacityRequestPolicyRange;
}

/** A range of amounts of a capacity. */
export interface CapacityRequestPolicyRange {
  /** The smallest amount; smaller requests are raised to it. */
  min?: QuantityText;
  /** The largest amount; larger requests cannot be met by the device. */
  max?: QuantityText;
  /** Requests are rounded up to the minimum plus a multiple of this. */
  step?: QuantityText;
}

/** How much of the capacities of a device is needed. */
export interface CapacityRequirements {
  /** Amounts by the name of the capacity. */
  requests?: Record<string, QuantityText>;
}

/** An amount of something countable. */
export interface Counter {
  /** The amount. */
  value: QuantityText;
}

/** Counters that several devices of a pool draw from. */
export interface CounterSet {
  /** Name of the set, unique in its pool. */
  name: string;
  /** The counters by name. */
  counters?: Record<string, Counter>;
}

/** One device that a driver offers. */
export interface Device {
  /** Name of the device, unique in its pool. A DNS label. */
  name: string;
  /** Properties of the device by name; names without a domain belong to the driver. */
  attributes?: Record<string, DeviceAttribute>;
  /** Amounts that the device has, by name. */
  capacity?: Record<string, DeviceCapacity>;
  /** Consumption of shared counters by an allocation of the device. */
  consumesCounters?: DeviceCounterConsumption[];
  /** The one node that has access to the device. Only with perDeviceNodeSelection. */
  nodeName?: string;
  /** The nodes that have access to the device. Only with perDeviceNodeSelection. */
  nodeSelector?: NodeSelector;
  /** True: every node has access to the device. Only with perDeviceNodeSelection. */
  allNodes?: boolean;
  /** Taints, which keep the device from claims that do not tolerate them. */
  taints?: DeviceTaint[];
  /** True: the allocation is limited to the node that was chosen, even if others have access. */
  bindsToNode?: boolean;
  /** Conditions of the device in the claim's status that must be True before the pod is bound. */
  bindingConditions?: string[];
  /** Conditions of which one being True means that binding has failed. */
  bindingFailureConditions?: string[];
  /** True: several claims and requests may each be given a share of the device. */
  allowMultipleAllocations?: boolean;
  /** How the device uses the allocatable resources of its node. */
  nodeAllocatableResources?: Record<string, NodeAllocatableResource>;
  /** How the device maps to the allocatable resources of its node. */
  nodeAllocatableResourceMappings?: Record<string, NodeAllocatableResourceMapping>;
}

/** Configuration that goes with an allocation. */
export interface DeviceAllocationConfiguration extends DeviceConfiguration {
  /** Where it comes from: FromClass or FromClaim. */
  source: string;
  /** The requests that it is for. Empty: all. */
  requests?: string[];
}

/** The devices allocated to a claim and their configuration. */
export interface DeviceAllocationResult {
  /** One entry for each allocated device. */
  results?: DeviceRequestAllocationResult[];
  /** Configuration of the classes first, then that of the claim. */
  config?: DeviceAllocationConfiguration[];
}

/** The value of an attribute; exactly one field is set. */
export interface DeviceAttribute {
  /** A whole number. */
  int?: Int64;
  /** True or false. */
  bool?: boolean;
  /** A string of at most 64 characters. */
  string?: string;
  /** A semantic version, as semver.org 2.0.0 defines it; at most 64 characters. */
  version?: string;
  /** A list of whole numbers. */
  ints?: Int64[];
  /** A list of booleans. */
  bools?: boolean[];
  /** A list of strings. */
  strings?: string[];
  /** A list of semantic versions. */
  versions?: string[];
}

/** An amount that a device has. */
export interface DeviceCapacity {
  /** The whole amount. */
  value: QuantityText;
  /** How requests for a part of it are treated, if the device can be shared. */
  requestPolicy?: CapacityRequestPolicy;
}

/** Requested devices. */
export interface DeviceClaim {
  /** Requests for devices, at most 32; all must be satisfied. */
  requests?: DeviceRequest[];
  /** Constraints over the devices of several requests; at most 32. */
  constraints?: DeviceConstraint[];
  /** Configuration for the drivers of the devices; at most 32 entries. */
  config?: DeviceClaimConfiguration[];
}

/** Configuration that a claim brings. */
export interface DeviceClaimConfiguration extends DeviceConfiguration {
  /** The requests that it is for. Empty: all. */
  requests?: string[];
}

/** A kind of device that administrators offer, by what selects it and how it is configured. */
export interface DeviceClass {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Selectors and configuration of the devices. A change does not affect existing allocations. */
  spec: DeviceClassSpec;
}

/** Configuration that a class brings. */
export interface DeviceClassConfiguration extends DeviceConfiguration {

}

export interface DeviceClassList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: DeviceClass[];
}

/** Selectors and configuration of the devices of a class. */
export interface DeviceClassSpec {
  /** All must select a device for it to be of the class. */
  selectors?: DeviceSelector[];
  /** Configuration for every device that is allocated through the class. */
  config?: DeviceClassConfiguration[];
  /**
   * Extended resource by which pods can ask for devices of the class without a claim, such as
   * example.com/gpu.
   */
  extendedResourceName?: string;
}

/** Configuration of devices; exactly one field is set. */
export interface DeviceConfiguration {
  /** Parameters that only the driver understands. */
  opaque?: OpaqueDeviceConfiguration;
}

/** A rule for the devices of several requests together. */
export interface DeviceConstraint {
  /** The requests that it is for. Empty: all. */
  requests?: string[];
  /** Attribute that must have the same value on all devices, such as resource.kubernetes.io/pcieRoot. */
  matchAttribute?: string;
  /** Attribute that must have a different value on each device. */
  distinctAttribute?: string;
}

/** Consumption of a device from one counter set. */
export interface DeviceCounterConsumption {
  /** Name of the counter set. */
  counterSet: string;
  /** Amounts by the name of the counter. */
  counters?: Record<string, Counter>;
  /** Groups of devices that can draw from the counter set at the same time. */
  compatibilityGroups?: string[];
}

/** An attribute that is computed from a device. */
export interface DeviceDerivedAttribute {
  /** Name of the attribute. */
  name: string;
  /** CEL expression that computes its value. */
  expression: string;
}

/** Asks for devices; one of exactly and firstAvailable is set. */
export interface DeviceRequest {
  /** Name by which constraints, configuration and pods refer to the request. A DNS label. */
  name: string;
  /** A request without alternatives. */
  exactly?: ExactDeviceRequest;
  /** Alternatives in order of preference; the first that can be met is taken. */
  firstAvailable?: DeviceSubRequest[];
}

/** One device that a request was given. */
export interface DeviceRequestAllocationResult {
  /** Name of the request, with that of the alternative after a slash. */
  request: string;
  /** Name of the driver of the device. */
  driver: string;
  /** Name of the pool of the device. */
  pool: string;
  /** Name of the device within its pool. */
  device: string;
  /** True: allocated for administration, whoever else uses the device. */
  adminAccess?: boolean;
  /** Tolerations of the request when the device was allocated. */
  tolerations?: DeviceToleration[];
  /** Conditions of the device when it was allocated that must be true before the pod is bound. */
  bindingConditions?: string[];
  /** Conditions of the device when it was allocated that mean that binding has failed. */
  bindingFailureConditions?: string[];
  /** Share of the device, if several requests share it. */
  shareID?: string;
  /** How much of each capacity of the device was taken. */
  consumedCapacity?: Record<string, QuantityText>;
  /** Operations on the node that the driver does not need for the device. */
  skipNodeOperations?: string[];
}

/** Selects devices. */
export interface DeviceSelector {
  /** Selects them by a CEL expression. */
  cel?: CELDeviceSelector;
}

/** One alternative of a request. */
export interface DeviceSubRequest {
  /** Name of the alternative, unique in its request. */
  name: string;
  /** Name of the DeviceClass. */
  deviceClassName: string;
  /** Further expressions; all must select a device, and so must the class. At most 32. */
  selectors?: DeviceSelector[];
  /** ExactCount (default): count devices; All: every device that matches, each of which must be free. */
  allocationMode?: string;
  /** How many devices with ExactCount. Default 1. */
  count?: Int64;
  /** Taints of devices that are tolerated; at most 16. */
  tolerations?: DeviceToleration[];
  /** How much of the capacities each device must have, or give if it can be shared. */
  capacity?: CapacityRequirements;
  /** Attributes that are computed from the devices. */
  derivedAttributes?: DeviceDerivedAttribute[];
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
}

/** Tolerates taints of devices. */
export interface DeviceToleration {
  /** Name of the taint. Empty with Exists: every taint. */
  key?: string;
  /** Exists, or Equal (default), which compares the value too. */
  operator?: string;
  /** Value of the taint, for Equal. */
  value?: string;
  /** Effect of the taint. Empty: every effect. */
  effect?: string;
  /** For how long a NoExecute taint is tolerated. Unset: for ever. */
  tolerationSeconds?: Int64;
}

/** One request for devices. */
export interface ExactDeviceRequest {
  /** Name of the DeviceClass. */
  deviceClassName: string;
  /** Further expressions; all must select a device, and so must the class. At most 32. */
  selectors?: DeviceSelector[];
  /** ExactCount (default): count devices; All: every device that matches, each of which must be free. */
  allocationMode?: string;
  /** How many devices with ExactCount. Default 1. */
  count?: Int64;
  /**
   * True: access for administration, to devices in use too. Needs a namespace with the label
   * resource.kubernetes.io/admin-access: "true".
   */
  adminAccess?: boolean;
  /** Taints of devices that are tolerated; at most 16. */
  tolerations?: DeviceToleration[];
  /** How much of the capacities each device must have, or give if it can be shared. */
  capacity?: CapacityRequirements;
  /** Attributes that are computed from the devices. */
  derivedAttributes?: DeviceDerivedAttribute[];
}

/** A device as a network interface. */
export interface NetworkDeviceData {
  /** Name of the interface. */
  interfaceName?: string;
  /** Its addresses in CIDR notation. */
  ips?: string[];
  /** Its hardware address. */
  hardwareAddress?: string;
}

/** How much of a resource of the node a device stands for. */
export interface NodeAllocatableMapping {
  /** The capacity of the device from which the amount follows. */
  capacityKey?: string;
  /** The amount for each unit of that capacity. */
  capacityMultiplier?: QuantityText;
  /** The amount for each device. */
  deviceMultiplier?: QuantityText;
}

/** Overhead of using a device. */
export interface NodeAllocatableOverhead {
  /** For each pod. */
  perPod?: QuantityText;
  /** For each container. */
  perContainer?: QuantityText;
}

/** How a device uses one allocatable resource of its node. */
export interface NodeAllocatableResource {
  /** How much the device stands for. */
  mapping?: NodeAllocatableMapping;
  /** Overhead of its use. */
  overhead?: NodeAllocatableOverhead;
}

/** How much of an allocatable resource of its node a device uses. */
export interface NodeAllocatableResourceMapping {
  /** The capacity of the device from which the amount follows. */
  capacityKey?: string;
  /** The amount for each unit of that capacity, or for the device. */
  allocationMultiplier?: QuantityText;
}

/** Parameters that Kubernetes passes on unread. */
export interface OpaqueDeviceConfiguration {
  /** Name of the driver that it is for. */
  driver: string;
  /** The parameters; an object with kind and apiVersion, at most 10 KiB. */
  parameters: unknown;
}

/** Asks for devices. Its status says which were allocated and who uses them. */
export interface ResourceClaim {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Requested devices. Immutable. */
  spec: ResourceClaimSpec;
  /** Whether the claim is ready for use, and with what. */
  status?: ResourceClaimStatus;
}

/** A consumer of a claim, such as a pod. */
export interface ResourceClaimConsumerReference {
  /** Group of the user; empty for the core group. */
  apiGroup?: string;
  /** Resource of the user, such as pods. */
  resource: string;
  /** Name of the user. */
  name: string;
  /** UID of the user. */
  uid: string;
}

export interface ResourceClaimList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ResourceClaim[];
}

/** Requests, constraints and configuration of a claim. */
export interface ResourceClaimSpec {
  /** Requested devices. */
  devices?: DeviceClaim;
}

/** Allocation of a claim, and its users. */
export interface ResourceClaimStatus {
  /** Allocated devices. Unset: none yet. */
  allocation?: AllocationResult;
  /**
   * Consumers that may use the claim now; at most 256. The claim cannot be deallocated while there is one.
   */
  reservedFor?: ResourceClaimConsumerReference[];
  /** Status of the allocated devices, reported by their drivers. */
  devices?: AllocatedDeviceStatus[];
}

/** The claim that is made for each pod that names the template. */
export interface ResourceClaimTemplate {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** The claim. Cannot change. */
  spec: ResourceClaimTemplateSpec;
}

export interface ResourceClaimTemplateList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ResourceClaimTemplate[];
}

/** Metadata and content of the claims that are made. */
export interface ResourceClaimTemplateSpec {
  /** Labels and annotations of the claims. */
  metadata?: ObjectMeta;
  /** Spec of the claims. */
  spec: ResourceClaimSpec;
}

/** The pool of a slice. */
export interface ResourcePool {
  /** Name of the pool; together with the driver it identifies the pool. */
  name: string;
  /** Grows with each change of the pool; slices of older generations are ignored. */
  generation: Int64;
  /** How many slices the pool has at this generation. */
  resourceSliceCount: Int64;
}

/** Devices of one pool that a driver offers. */
export interface ResourceSlice {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** The devices and where they can be used. */
  spec: ResourceSliceSpec;
}

export interface ResourceSliceList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: ResourceSlice[];
}

/** The devices of a slice and where they can be used. */
export interface ResourceSliceSpec {
  /** Name of the driver, a DNS subdomain. Cannot change. */
  driver: string;
  /** The pool that the devices belong to. */
  pool: ResourcePool;
  /**
   * The one node that has access to the devices. Excludes nodeSelector, allNodes and perDeviceNodeSelection.
   */
  nodeName?: string;
  /** The nodes that have access to the devices. */
  nodeSelector?: NodeSelector;
  /** True: every node has access to the devices. */
  allNodes?: boolean;
  /** The devices; at most 128, or 64 if any has taints, consumes counters or has list attributes. */
  devices?: Device[];
  /** True: each device says itself which nodes have access to it. */
  perDeviceNodeSelection?: boolean;
  /** Counter sets that devices of the pool draw from. */
  sharedCounters?: CounterSet[];
  /** Attribute that tells what sort of partition a device is. */
  partitionTypeAttribute?: string;
  /** Operations on the node that the driver does not need. */
  skipNodeOperations?: string[];
}
