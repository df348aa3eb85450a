// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/resource/v1beta2.ts";

export type * from "../../schema/generated/resource/v1beta2.ts";

/** A kind of device that administrators offer, by what selects it and how it is configured. */
export interface DeviceClass extends types.DeviceClass {}
/** A kind of device that administrators offer, by what selects it and how it is configured. */
export const DeviceClass: Kind<DeviceClass> = {"group":"resource.k8s.io","version":"v1beta2","kind":"DeviceClass","resource":"deviceclasses","namespaced":false};

/** Adds a taint to all devices that it selects. */
export interface DeviceTaintRule extends types.DeviceTaintRule {}
/** Adds a taint to all devices that it selects. */
export const DeviceTaintRule: Kind<DeviceTaintRule> = {"group":"resource.k8s.io","version":"v1beta2","kind":"DeviceTaintRule","resource":"devicetaintrules","namespaced":false};

/** Asks for devices. Its status says which were allocated and who uses them. */
export interface ResourceClaim extends types.ResourceClaim {}
/** Asks for devices. Its status says which were allocated and who uses them. */
export const ResourceClaim: Kind<ResourceClaim> = {"group":"resource.k8s.io","version":"v1beta2","kind":"ResourceClaim","resource":"resourceclaims","namespaced":true};

/** The claim that is made for each pod that names the template. */
export interface ResourceClaimTemplate extends types.ResourceClaimTemplate {}
/** The claim that is made for each pod that names the template. */
export const ResourceClaimTemplate: Kind<ResourceClaimTemplate> = {"group":"resource.k8s.io","version":"v1beta2","kind":"ResourceClaimTemplate","resource":"resourceclaimtemplates","namespaced":true};

/** Devices of one pool that a driver offers. */
export interface ResourceSlice extends types.ResourceSlice {}
/** Devices of one pool that a driver offers. */
export const ResourceSlice: Kind<ResourceSlice> = {"group":"resource.k8s.io","version":"v1beta2","kind":"ResourceSlice","resource":"resourceslices","namespaced":false};
