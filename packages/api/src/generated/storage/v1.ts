// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, NamespacedMeta, QuantityText, StoredMeta, Time } from "../../objects/object.ts";
import type { PersistentVolumeSpec, TopologySelectorTerm } from "../core/v1.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

export interface CSIDriver {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: CSIDriverSpec;
}

export const CSIDriver: Kind<CSIDriver> = {"group":"storage.k8s.io","version":"v1","kind":"CSIDriver","resource":"csidrivers","namespaced":false};

export interface CSIDriverList {
  metadata?: ListMeta;
  items: CSIDriver[];
}

export interface CSIDriverSpec {
  attachRequired?: boolean;
  podInfoOnMount?: boolean;
  volumeLifecycleModes?: string[];
  storageCapacity?: boolean;
  fsGroupPolicy?: string;
  tokenRequests?: TokenRequest[];
  requiresRepublish?: boolean;
  seLinuxMount?: boolean;
  nodeAllocatableUpdatePeriodSeconds?: Int64;
  serviceAccountTokenInSecrets?: boolean;
  preventPodSchedulingIfMissing?: boolean;
}

export interface CSINode {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: CSINodeSpec;
  status?: CSINodeStatus;
}

export const CSINode: Kind<CSINode> = {"group":"storage.k8s.io","version":"v1","kind":"CSINode","resource":"csinodes","namespaced":false};

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys?: string[];
  allocatable?: VolumeNodeResources;
}

export interface CSINodeList {
  metadata?: ListMeta;
  items: CSINode[];
}

export interface CSINodeSpec {
  drivers: CSINodeDriver[];
}

export interface CSINodeStatus {
  storageHealth?: StorageHealth[];
}

export interface CSIStorageCapacity {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  nodeTopology?: LabelSelector;
  storageClassName: string;
  capacity?: QuantityText;
  maximumVolumeSize?: QuantityText;
}

export const CSIStorageCapacity: Kind<CSIStorageCapacity> = {"group":"storage.k8s.io","version":"v1","kind":"CSIStorageCapacity","resource":"csistoragecapacities","namespaced":true};

export interface CSIStorageCapacityList {
  metadata?: ListMeta;
  items: CSIStorageCapacity[];
}

export interface StorageClass {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  provisioner: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: string;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: string;
  allowedTopologies?: TopologySelectorTerm[];
}

export const StorageClass: Kind<StorageClass> = {"group":"storage.k8s.io","version":"v1","kind":"StorageClass","resource":"storageclasses","namespaced":false};

export interface StorageClassList {
  metadata?: ListMeta;
  items: StorageClass[];
}

export interface StorageHealth {
  name: string;
  healthConditions?: StorageHealthCondition[];
}

export interface StorageHealthCondition {
  status?: string;
  reason: string;
  message?: string;
  accessMode?: string;
  volumeMode?: string;
  lastTransitionTime?: Time;
}

export interface TokenRequest {
  audience: string;
  expirationSeconds?: Int64;
}

export interface VolumeAttachment {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: VolumeAttachmentSpec;
  status?: VolumeAttachmentStatus;
}

export const VolumeAttachment: Kind<VolumeAttachment> = {"group":"storage.k8s.io","version":"v1","kind":"VolumeAttachment","resource":"volumeattachments","namespaced":false};

export interface VolumeAttachmentList {
  metadata?: ListMeta;
  items: VolumeAttachment[];
}

export interface VolumeAttachmentSource {
  persistentVolumeName?: string;
  inlineVolumeSpec?: PersistentVolumeSpec;
}

export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Record<string, string>;
  attachError?: VolumeError;
  detachError?: VolumeError;
}

export interface VolumeAttributesClass {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  driverName: string;
  parameters?: Record<string, string>;
}

export const VolumeAttributesClass: Kind<VolumeAttributesClass> = {"group":"storage.k8s.io","version":"v1","kind":"VolumeAttributesClass","resource":"volumeattributesclasses","namespaced":false};

export interface VolumeAttributesClassList {
  metadata?: ListMeta;
  items: VolumeAttributesClass[];
}

export interface VolumeError {
  time?: Time;
  message?: string;
  errorCode?: number;
}

export interface VolumeNodeResources {
  count?: number;
}
