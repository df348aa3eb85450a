// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/storage/v1.ts";

export type * from "../../schema/generated/storage/v1.ts";

export interface CSIDriver extends types.CSIDriver {}
export const CSIDriver: Kind<CSIDriver> = {"group":"storage.k8s.io","version":"v1","kind":"CSIDriver","resource":"csidrivers","namespaced":false};

export interface CSINode extends types.CSINode {}
export const CSINode: Kind<CSINode> = {"group":"storage.k8s.io","version":"v1","kind":"CSINode","resource":"csinodes","namespaced":false};

export interface CSIStorageCapacity extends types.CSIStorageCapacity {}
export const CSIStorageCapacity: Kind<CSIStorageCapacity> = {"group":"storage.k8s.io","version":"v1","kind":"CSIStorageCapacity","resource":"csistoragecapacities","namespaced":true};

/** A kind of storage, and who provides it. */
export interface StorageClass extends types.StorageClass {}
/** A kind of storage, and who provides it. */
export const StorageClass: Kind<StorageClass> = {"group":"storage.k8s.io","version":"v1","kind":"StorageClass","resource":"storageclasses","namespaced":false};

export interface VolumeAttachment extends types.VolumeAttachment {}
export const VolumeAttachment: Kind<VolumeAttachment> = {"group":"storage.k8s.io","version":"v1","kind":"VolumeAttachment","resource":"volumeattachments","namespaced":false};

export interface VolumeAttributesClass extends types.VolumeAttributesClass {}
export const VolumeAttributesClass: Kind<VolumeAttributesClass> = {"group":"storage.k8s.io","version":"v1","kind":"VolumeAttributesClass","resource":"volumeattributesclasses","namespaced":false};
