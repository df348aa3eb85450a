// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, NamespacedMeta, QuantityText, StoredMeta, Time } from "../../../objects/object.ts";
import type { PersistentVolumeSpec, TopologySelectorTerm } from "../core/v1.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

export interface CSIDriver {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state. */
  spec: CSIDriverSpec;
}

export interface CSIDriverList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
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
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state. */
  spec: CSINodeSpec;
  /** Last observed status. The system writes it. */
  status?: CSINodeStatus;
}

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys?: string[];
  allocatable?: VolumeNodeResources;
}

export interface CSINodeList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
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
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  nodeTopology?: LabelSelector;
  storageClassName: string;
  capacity?: QuantityText;
  maximumVolumeSize?: QuantityText;
}

export interface CSIStorageCapacityList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: CSIStorageCapacity[];
}

/** A kind of storage, and who provides it. */
export interface StorageClass {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Name of the provisioner. */
  provisioner: string;
  /** Parameters for the provisioner. */
  parameters?: Record<string, string>;
  /** Delete (default) or Retain: what happens to a volume whose claim is deleted. */
  reclaimPolicy?: string;
  /** Options of the mount. */
  mountOptions?: string[];
  /** True: claims can grow. */
  allowVolumeExpansion?: boolean;
  /** Immediate (default), or WaitForFirstConsumer: when a pod needs it. */
  volumeBindingMode?: string;
  /** Where volumes may be. */
  allowedTopologies?: TopologySelectorTerm[];
}

export interface StorageClassList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: StorageClass[];
}

export interface StorageHealth {
  name: string;
  healthConditions?: StorageHealthCondition[];
}

export interface StorageHealthCondition {
  /** Last observed status. The system writes it. */
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
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state. */
  spec: VolumeAttachmentSpec;
  /** Last observed status. The system writes it. */
  status?: VolumeAttachmentStatus;
}

export interface VolumeAttachmentList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
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
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  driverName: string;
  parameters?: Record<string, string>;
}

export interface VolumeAttributesClassList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
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
