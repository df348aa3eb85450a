// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, NamespacedMeta, QuantityText, StoredMeta, Time } from "../../objects/object.ts";
import type { NodeSelector } from "../core/v1.ts";
import type { Condition, ListMeta, ObjectMeta } from "../meta/v1.ts";

export interface AllocatedDeviceStatus {
  driver: string;
  pool: string;
  device: string;
  shareID?: string;
  conditions?: Condition[];
  data?: unknown;
  networkData?: NetworkDeviceData;
}

export interface AllocationResult {
  devices?: DeviceAllocationResult;
  nodeSelector?: NodeSelector;
  allocationTimestamp?: Time;
}

export interface CELDeviceSelector {
  expression: string;
}

export interface CapacityRequestPolicy {
  default?: QuantityText;
  validValues?: QuantityText[];
  validRange?: CapacityRequestPolicyRange;
}

export interface CapacityRequestPolicyRange {
  min?: QuantityText;
  max?: QuantityText;
  step?: QuantityText;
}

export interface CapacityRequirements {
  requests?: Record<string, QuantityText>;
}

export interface Counter {
  value: QuantityText;
}

export interface CounterSet {
  name: string;
  counters?: Record<string, Counter>;
}

export interface Device {
  name: string;
  attributes?: Record<string, DeviceAttribute>;
  capacity?: Record<string, DeviceCapacity>;
  consumesCounters?: DeviceCounterConsumption[];
  nodeName?: string;
  nodeSelector?: NodeSelector;
  allNodes?: boolean;
  taints?: DeviceTaint[];
  bindsToNode?: boolean;
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  allowMultipleAllocations?: boolean;
  nodeAllocatableResources?: Record<string, NodeAllocatableResource>;
  nodeAllocatableResourceMappings?: Record<string, NodeAllocatableResourceMapping>;
}

export interface DeviceAllocationConfiguration extends DeviceConfiguration {
  source: string;
  requests?: string[];
}

export interface DeviceAllocationResult {
  results?: DeviceRequestAllocationResult[];
  config?: DeviceAllocationConfiguration[];
}

export interface DeviceAttribute {
  int?: Int64;
  bool?: boolean;
  string?: string;
  version?: string;
  ints?: Int64[];
  bools?: boolean[];
  strings?: string[];
  versions?: string[];
}

export interface DeviceCapacity {
  value: QuantityText;
  requestPolicy?: CapacityRequestPolicy;
}

export interface DeviceClaim {
  requests?: DeviceRequest[];
  constraints?: DeviceConstraint[];
  config?: DeviceClaimConfiguration[];
}

export interface DeviceClaimConfiguration extends DeviceConfiguration {
  requests?: string[];
}

export interface DeviceClass {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: DeviceClassSpec;
}

export const DeviceClass: Kind<DeviceClass> = {"group":"resource.k8s.io","version":"v1beta2","kind":"DeviceClass","resource":"deviceclasses","namespaced":false};

export interface DeviceClassConfiguration extends DeviceConfiguration {

}

export interface DeviceClassList {
  metadata?: ListMeta;
  items: DeviceClass[];
}

export interface DeviceClassSpec {
  selectors?: DeviceSelector[];
  config?: DeviceClassConfiguration[];
  extendedResourceName?: string;
}

export interface DeviceConfiguration {
  opaque?: OpaqueDeviceConfiguration;
}

export interface DeviceConstraint {
  requests?: string[];
  matchAttribute?: string;
  distinctAttribute?: string;
}

export interface DeviceCounterConsumption {
  counterSet: string;
  counters?: Record<string, Counter>;
  compatibilityGroups?: string[];
}

export interface DeviceDerivedAttribute {
  name: string;
  expression: string;
}

export interface DeviceRequest {
  name: string;
  exactly?: ExactDeviceRequest;
  firstAvailable?: DeviceSubRequest[];
}

export interface DeviceRequestAllocationResult {
  request: string;
  driver: string;
  pool: string;
  device: string;
  adminAccess?: boolean;
  tolerations?: DeviceToleration[];
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  shareID?: string;
  consumedCapacity?: Record<string, QuantityText>;
  skipNodeOperations?: string[];
}

export interface DeviceSelector {
  cel?: CELDeviceSelector;
}

export interface DeviceSubRequest {
  name: string;
  deviceClassName: string;
  selectors?: DeviceSelector[];
  allocationMode?: string;
  count?: Int64;
  tolerations?: DeviceToleration[];
  capacity?: CapacityRequirements;
  derivedAttributes?: DeviceDerivedAttribute[];
}

export interface DeviceTaint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: Time;
}

export interface DeviceTaintRule {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: DeviceTaintRuleSpec;
  status?: DeviceTaintRuleStatus;
}

export const DeviceTaintRule: Kind<DeviceTaintRule> = {"group":"resource.k8s.io","version":"v1beta2","kind":"DeviceTaintRule","resource":"devicetaintrules","namespaced":false};

export interface DeviceTaintRuleList {
  metadata?: ListMeta;
  items: DeviceTaintRule[];
}

export interface DeviceTaintRuleSpec {
  deviceSelector?: DeviceTaintSelector;
  taint?: DeviceTaint;
}

export interface DeviceTaintRuleStatus {
  conditions?: Condition[];
}

export interface DeviceTaintSelector {
  driver?: string;
  pool?: string;
  device?: string;
}

export interface DeviceToleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: Int64;
}

export interface ExactDeviceRequest {
  deviceClassName: string;
  selectors?: DeviceSelector[];
  allocationMode?: string;
  count?: Int64;
  adminAccess?: boolean;
  tolerations?: DeviceToleration[];
  capacity?: CapacityRequirements;
  derivedAttributes?: DeviceDerivedAttribute[];
}

export interface NetworkDeviceData {
  interfaceName?: string;
  ips?: string[];
  hardwareAddress?: string;
}

export interface NodeAllocatableMapping {
  capacityKey?: string;
  capacityMultiplier?: QuantityText;
  deviceMultiplier?: QuantityText;
}

export interface NodeAllocatableOverhead {
  perPod?: QuantityText;
  perContainer?: QuantityText;
}

export interface NodeAllocatableResource {
  mapping?: NodeAllocatableMapping;
  overhead?: NodeAllocatableOverhead;
}

export interface NodeAllocatableResourceMapping {
  capacityKey?: string;
  allocationMultiplier?: QuantityText;
}

export interface OpaqueDeviceConfiguration {
  driver: string;
  parameters: unknown;
}

export interface ResourceClaim {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: ResourceClaimSpec;
  status?: ResourceClaimStatus;
}

export const ResourceClaim: Kind<ResourceClaim> = {"group":"resource.k8s.io","version":"v1beta2","kind":"ResourceClaim","resource":"resourceclaims","namespaced":true};

export interface ResourceClaimConsumerReference {
  apiGroup?: string;
  resource: string;
  name: string;
  uid: string;
}

export interface ResourceClaimList {
  metadata?: ListMeta;
  items: ResourceClaim[];
}

export interface ResourceClaimSpec {
  devices?: DeviceClaim;
}

export interface ResourceClaimStatus {
  allocation?: AllocationResult;
  reservedFor?: ResourceClaimConsumerReference[];
  devices?: AllocatedDeviceStatus[];
}

export interface ResourceClaimTemplate {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: ResourceClaimTemplateSpec;
}

export const ResourceClaimTemplate: Kind<ResourceClaimTemplate> = {"group":"resource.k8s.io","version":"v1beta2","kind":"ResourceClaimTemplate","resource":"resourceclaimtemplates","namespaced":true};

export interface ResourceClaimTemplateList {
  metadata?: ListMeta;
  items: ResourceClaimTemplate[];
}

export interface ResourceClaimTemplateSpec {
  metadata?: ObjectMeta;
  spec: ResourceClaimSpec;
}

export interface ResourcePool {
  name: string;
  generation: Int64;
  resourceSliceCount: Int64;
}

export interface ResourceSlice {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: ResourceSliceSpec;
}

export const ResourceSlice: Kind<ResourceSlice> = {"group":"resource.k8s.io","version":"v1beta2","kind":"ResourceSlice","resource":"resourceslices","namespaced":false};

export interface ResourceSliceList {
  metadata?: ListMeta;
  items: ResourceSlice[];
}

export interface ResourceSliceSpec {
  driver: string;
  pool: ResourcePool;
  nodeName?: string;
  nodeSelector?: NodeSelector;
  allNodes?: boolean;
  devices?: Device[];
  perDeviceNodeSelection?: boolean;
  sharedCounters?: CounterSet[];
  partitionTypeAttribute?: string;
  skipNodeOperations?: string[];
}
