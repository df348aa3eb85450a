// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, QuantityText, StoredMeta, Time } from "../../objects/object.ts";
import type { Condition, ListMeta } from "../meta/v1.ts";

export interface CELDeviceSelector {
  expression?: string;
}

export interface DeviceSelector {
  cel?: CELDeviceSelector;
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

export const DeviceTaintRule: Kind<DeviceTaintRule> = {"group":"resource.k8s.io","version":"v1alpha3","kind":"DeviceTaintRule","resource":"devicetaintrules","namespaced":false};

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
  deviceClassName?: string;
  selectors?: DeviceSelector[];
}

export interface PartitionTypeStatus {
  attribute?: string;
  type?: string;
  total?: number;
  allocatable?: number;
}

export interface PoolStatus {
  driver?: string;
  poolName?: string;
  generation: Int64;
  resourceSliceCount?: number;
  totalDevices?: number;
  allocatedDevices?: number;
  availableDevices?: number;
  unavailableDevices?: number;
  nodeName?: string;
  validationError?: string;
  partitionSummary?: PartitionTypeStatus[];
  shareableSummary?: ShareableSummaryStatus;
}

export interface ResourcePoolStatusRequest {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: ResourcePoolStatusRequestSpec;
  status?: ResourcePoolStatusRequestStatus;
}

export const ResourcePoolStatusRequest: Kind<ResourcePoolStatusRequest> = {"group":"resource.k8s.io","version":"v1alpha3","kind":"ResourcePoolStatusRequest","resource":"resourcepoolstatusrequests","namespaced":false};

export interface ResourcePoolStatusRequestList {
  metadata?: ListMeta;
  items: ResourcePoolStatusRequest[];
}

export interface ResourcePoolStatusRequestSpec {
  driver: string;
  poolName?: string;
  limit?: number;
  defaultPartitionTypeAttribute?: string;
}

export interface ResourcePoolStatusRequestStatus {
  poolCount?: number;
  pools?: PoolStatus[];
  conditions?: Condition[];
}

export interface ShareableCapacityStatus {
  name?: string;
  total?: QuantityText;
  consumed?: QuantityText;
  available?: QuantityText;
}

export interface ShareableSummaryStatus {
  fullyAvailableDevices?: number;
  partiallyAvailableDevices?: number;
  capacity?: ShareableCapacityStatus[];
}
